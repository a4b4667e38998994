import json, urllib.request
import pytest
from buy import buy
from licensing import Problem

def test_the_same_number_buys_once():
    assert buy("SO-1")["items"] == buy("SO-1")["items"]

def test_a_lost_answer_leaves_the_outcome_unknown(licensing):
    fault = {"operation": "batchOrder", "phase": "after", "times": 1, "action": {"reset": "before-headers"}}
    urllib.request.urlopen(licensing["sandbox"]["controlUrl"] + "/faults", json.dumps(fault).encode())
    with pytest.raises(Problem) as raised:
        buy("SO-2")
    assert raised.value.fields["outcome"] == "unknown"
