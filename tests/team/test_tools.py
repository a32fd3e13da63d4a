"""The eleven tools as a model sees them."""

import inspect
import json

import pytest

from infranode_eval.team import files
from infranode_eval.team.tools import BASIC_TOOLS, MAIN_TOOLS, subset, toolset

# Specification, team, section 1: "Tool parameters"; a question mark where one is optional.
PARAMETERS = {
    "Read": "file_path offset? limit?", "Write": "file_path content",
    "Edit": "file_path old_string new_string replace_all?", "Bash": "command timeout? run_in_background?",
    "Grep": "pattern path? glob? output_mode? -i? -n? -A? -B? -C? head_limit?", "Glob": "pattern path?",
    "CreateSubagent": "name model_key tools accessible_paths system_prompt",
    "RunSubagent": "subagent prompt session_id? run_in_background?", "ListSubagents": "",
    "InspectSubagent": "subagent? session_id?", "Workflow": "script args?"}


def test_there_are_exactly_these_eleven():
    assert sorted(tool.name for tool in toolset().tools) == sorted(PARAMETERS) == sorted(MAIN_TOOLS)
    assert tuple(tool.name for tool in toolset().tools) == MAIN_TOOLS
    assert BASIC_TOOLS == ("Read", "Write", "Edit", "Bash", "Grep", "Glob")


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS.items())
def test_a_tool_has_exactly_these_parameters_and_describes_each(name, parameters):
    tool = toolset().by_name[name]
    found = [p if p in tool.required else f"{p}?" for p in tool.properties]
    assert " ".join(found) == parameters
    assert tool.parameters["additionalProperties"] is False
    for schema in (tool.to_json()["function"], *tool.properties.values()):
        assert len(schema["description"]) > 10


@pytest.mark.parametrize("name", MAIN_TOOLS)
def test_every_type_is_one_name_and_every_list_says_of_what(name):
    """Some servers refuse a list of types, a list without items and an object without properties."""
    for schema in toolset().by_name[name].properties.values():
        assert isinstance(schema["type"], str)
        assert schema["type"] != "array" or schema["items"]["type"] == "string"
        assert schema["type"] != "object" or schema["properties"]


def test_a_subset_keeps_the_order_and_is_built_once():
    assert [tool["function"]["name"] for tool in subset(["Glob", "Read", "Glob"])] == ["Read", "Glob"]
    assert subset(["Glob", "Read"]) is subset(("Read", "Glob"))
    assert subset(()) == []
    assert json.dumps(subset(MAIN_TOOLS)) == json.dumps(toolset().to_json())
    with pytest.raises(KeyError, match="ReadX"):
        subset(["Read", "ReadX"])


def test_a_sub_agent_can_be_granted_the_basic_tools_and_no_other():
    assert tuple(toolset().by_name["CreateSubagent"].properties["tools"]["items"]["enum"]) == BASIC_TOOLS


@pytest.mark.parametrize(("name", "tool"), [("Read", files.read), ("Write", files.write), ("Edit", files.edit),
                                            ("Glob", files.glob_)])
def test_a_file_tool_takes_what_is_described(name, tool):
    source = inspect.getsource(tool)
    listed = ", ".join(f'"{p}"' for p in toolset().by_name[name].properties)
    assert f"only(arguments, {listed})" in source


def test_numbers_in_the_descriptions_are_those_of_the_code():
    assert f"ab {files.REFUSAL_BYTES // 1024} KiB" in toolset().by_name["Read"].description
    assert f"höchstens {files.MAX_PATHS}" in toolset().by_name["Glob"].description
