// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IJobs} from "../interfaces/IJobs.sol";
import {JOB_STATE} from "../Errors.sol";
import {DUTY_DRAWN, Duty} from "../Duties.sol";
import {FLAG_SEALED, Job, State} from "../Types.sol";

/// ERC-8004 (draft), Validation Registry: the part that a validator calls.
interface IValidationRegistry {
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external;
}

/// The validator that answers with how a job ended: 100 when it was settled, else 0. A request is named by the job's
/// digest. Holds no money; may be replaced. contracts/SPEC.md §18.
contract ValidationAdapter {
    IJobs public immutable settlement;
    IValidationRegistry public immutable registry;

    constructor(IJobs settlement_, IValidationRegistry registry_) {
        settlement = settlement_;
        registry = registry_;
    }

    /// Anyone, once the job's outcome says something about the work.
    function answer(bytes32 job) external {
        Job memory j = settlement.jobOf(job);
        bool judged = j.state == State.Settled || j.state == State.Stopped || j.state == State.Abandoned
            || j.state == State.Undelivered || j.state == State.Slashed;
        if (!judged) revert JOB_STATE(job, uint8(j.state));
        Duty memory d = settlement.duties().dutyOf(address(settlement), job);
        registry.validationResponse(job, j.state == State.Settled ? 100 : 0, "", d.root, tagOf(j, d));
    }

    /// The strongest of what vouched for the run.
    function tagOf(Job memory j, Duty memory d) public pure returns (string memory) {
        if (d.upTo != 0 && d.proved == d.upTo) return "zk-full";
        if (j.flags & FLAG_SEALED != 0) return "tee";
        return d.flags & DUTY_DRAWN != 0 ? "zk-sampled" : "optimistic-final";
    }
}
