// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "./IStepVerifier.sol";

interface IVerifierRouter is IStepVerifier {
    event SelectorAdded(bytes4 indexed selector, address verifier);
    event SelectorTombstoned(bytes4 indexed selector);

    function verifierOf(bytes4 selector) external view returns (IStepVerifier);

    function isLive(bytes4 selector) external view returns (bool);
}
