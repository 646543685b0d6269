// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../src/interfaces/IStepVerifier.sol";
import {Statements} from "../src/libraries/Statements.sol";

/// For tests of the dispute modes only. A transition is true when the border after is the hash of the border before;
/// the seal carries the statement in clear, so a true transition is the only thing that it can prove.
contract TestStepVerifier is IStepVerifier {
    error TEST_STATEMENT();
    error TEST_TRANSITION();

    struct Statement {
        bytes32 domain;
        bytes32 job;
        uint256 index;
        bytes32 before;
        bytes32 afterwards;
    }

    function next(bytes32 border) public pure returns (bytes32) {
        return keccak256(abi.encode("test step", border));
    }

    function verify(bytes calldata seal, bytes32 statementDigest) external pure {
        Statement memory s = abi.decode(seal[4:], (Statement));
        bytes32 hash = Statements.segment(s.job, s.index, s.before, s.afterwards);
        if (keccak256(abi.encodePacked("\x19\x01", s.domain, hash)) != statementDigest) revert TEST_STATEMENT();
        if (s.afterwards != next(s.before)) revert TEST_TRANSITION();
    }
}
