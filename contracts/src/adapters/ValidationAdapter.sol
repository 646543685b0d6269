// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IJobs} from "../interfaces/IJobs.sol";
import {JOB_STATE} from "../Errors.sol";
import {FLAG_SAMPLE_DUE, FLAG_SEALED, Job, State} from "../Types.sol";

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
/// digest. Holds no money; may be replaced. Settlement §18.
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
        if (j.state < State.Settled || j.state == State.Aborted || j.state == State.Voided) {
            revert JOB_STATE(job, uint8(j.state));
        }
        registry.validationResponse(job, j.state == State.Settled ? 100 : 0, "", j.root, tagOf(j));
    }

    /// The strongest of what vouched for the run.
    function tagOf(Job memory j) public pure returns (string memory) {
        if (j.upTo != 0 && j.proved == j.upTo) return "zk-full";
        if (j.flags & FLAG_SEALED != 0) return "tee";
        return j.flags & FLAG_SAMPLE_DUE != 0 ? "zk-sampled" : "optimistic-final";
    }
}
