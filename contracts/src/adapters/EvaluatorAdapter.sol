// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IJobs} from "../interfaces/IJobs.sol";
import {JOB_STATE} from "../Errors.sol";
import {State} from "../Types.sol";

/// ERC-8183 (draft), Agentic Commerce: the part that an evaluator calls.
interface IAgenticCommerce {
    function complete(uint256 jobId, bytes32 reason, bytes calldata optParams) external;
    function reject(uint256 jobId, bytes32 reason, bytes calldata optParams) external;
}

/// The evaluator for one job of Settlement. Whoever names this contract as evaluator of a job elsewhere agrees to the
/// job here that it was made for. Holds no money; may be replaced. contracts/SPEC.md §18.
contract EvaluatorAdapter {
    IJobs public immutable settlement;
    IAgenticCommerce public immutable commerce;
    bytes32 public immutable job;

    constructor(IJobs settlement_, IAgenticCommerce commerce_, bytes32 job_) {
        settlement = settlement_;
        commerce = commerce_;
        job = job_;
    }

    /// Anyone, once the job here has ended.
    function evaluate(uint256 jobId) external {
        State state = settlement.jobOf(job).state;
        if (state < State.Settled) revert JOB_STATE(job, uint8(state));
        if (state == State.Settled) commerce.complete(jobId, job, "");
        else commerce.reject(jobId, job, "");
    }
}
