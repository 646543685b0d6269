// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {STEP_FINAL_CHECK, STEP_NONCANONICAL} from "../zk/ZkErrors.sol";

error GROTH16_KEY();

// Public signals: commitments before, after and to the data; the statement in two halves; step sizes.
uint256 constant SIGNALS = 6;

/// The Groth16 argument over BN254 by the precompiles of EIP-196 and EIP-197, which refuse coordinates beyond the field
/// and points outside the groups. Words of a key: α (2), β, γ, δ (4 each), IC_0 … IC_6 (2 each); of a proof: A, B, C.
library Groth16 {
    uint256 internal constant R = 21888242871839275222246405745257275088548364400416034343698204186575808495617;
    uint256 private constant Q = 21888242871839275222246405745257275088696311157297823662689037894645226208583;
    uint256 internal constant KEY_BYTES = 896;
    uint256 private constant INPUTS_AT = 14;

    /// Reverts unless all points are of their groups, none is zero, and γ ≠ δ: with γ = δ anyone can forge.
    function requireKey(bytes calldata key) internal view {
        if (key.length != KEY_BYTES) revert GROTH16_KEY();
        uint256[28] memory words = abi.decode(key, (uint256[28]));
        uint256[24] memory pairs; // zero with β, γ, δ: the pairing is there for its checks of the points
        bool isSame = true;
        for (uint256 i; i < 4; ++i) {
            (pairs[2 + i], pairs[8 + i], pairs[14 + i]) = (words[2 + i], words[6 + i], words[10 + i]);
            if (words[6 + i] != words[10 + i]) isSame = false;
        }
        for (uint256 i; i < 3; ++i) {
            uint256 k = 2 + 6 * i;
            if ((pairs[k] | pairs[k + 1] | pairs[k + 2] | pairs[k + 3]) == 0) revert GROTH16_KEY();
        }
        if (isSame || !_pairing(pairs, 576)) revert GROTH16_KEY();
        _requirePoint(words[0], words[1]);
        for (uint256 i = INPUTS_AT; i < 28; i += 2) {
            _requirePoint(words[i], words[i + 1]);
        }
    }

    function _requirePoint(uint256 x, uint256 y) private view {
        uint256[5] memory sum;
        (sum[0], sum[1]) = (x, y);
        if ((x | y) == 0 || !_add(sum)) revert GROTH16_KEY();
    }

    /// @param place contract whose code holds the key from byte `keyAt` on
    function check(address place, uint256 keyAt, uint256[SIGNALS] memory signals, uint256[8] calldata proof)
        internal
        view
    {
        if ((proof[0] | proof[1]) == 0 || (proof[6] | proof[7]) == 0 || proof[1] >= Q) revert STEP_NONCANONICAL();
        if ((proof[2] | proof[3] | proof[4] | proof[5]) == 0) revert STEP_NONCANONICAL();
        uint256[14] memory inputs;
        uint256[24] memory pairs; // (−A, B), (α, β), (input, γ), (C, δ)
        assembly ("memory-safe") {
            extcodecopy(place, add(pairs, 192), keyAt, 192)
            extcodecopy(place, add(pairs, 448), add(keyAt, 192), 128)
            extcodecopy(place, add(pairs, 640), add(keyAt, 320), 128)
            extcodecopy(place, inputs, add(keyAt, 448), 448)
            calldatacopy(pairs, proof, 192)
            calldatacopy(add(pairs, 576), add(proof, 192), 64)
        }
        pairs[1] = Q - pairs[1];
        uint256[5] memory sum; // so far (2), next term (2), its factor
        (sum[0], sum[1]) = (inputs[0], inputs[1]);
        for (uint256 i; i < SIGNALS; ++i) {
            (sum[2], sum[3], sum[4]) = (inputs[2 + 2 * i], inputs[3 + 2 * i], signals[i]);
            if (!_scale(sum) || !_add(sum)) revert GROTH16_KEY();
        }
        (pairs[12], pairs[13]) = (sum[0], sum[1]);
        if (!_pairing(pairs, 768)) revert STEP_NONCANONICAL();
        if (pairs[0] != 1) revert STEP_FINAL_CHECK();
    }

    /// Adds the term to the sum. False when one is no point.
    function _add(uint256[5] memory sum) private view returns (bool ok) {
        assembly ("memory-safe") {
            ok := staticcall(gas(), 6, sum, 128, sum, 64)
        }
    }

    /// Multiplies the term by its factor.
    function _scale(uint256[5] memory sum) private view returns (bool ok) {
        assembly ("memory-safe") {
            let term := add(sum, 64)
            ok := staticcall(gas(), 7, term, 96, term, 64)
        }
    }

    /// Leaves 1 in the first word when the product of the pairings is one, else 0. False when something is no point.
    function _pairing(uint256[24] memory pairs, uint256 size) private view returns (bool ok) {
        assembly ("memory-safe") {
            ok := staticcall(gas(), 8, pairs, size, pairs, 32)
        }
    }
}
