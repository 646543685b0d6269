// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {CALLER, QUORUM_REPEATED, QUORUM_SHORT, QUORUM_SIGNER, QUORUM_SIZE, SIGNATURE} from "./Errors.sol";

/// m of n attestors: distinct signers counted by bitmap. Settlement §10.
abstract contract Quorum {
    address public immutable governor; // changes the set; meant to be a timelock
    uint16 public threshold;
    uint16 public attestorCount;
    uint16 private _nextSlot = 1; // slots are never reused

    mapping(address attestor => uint16 slot) private _slots;

    event AttestorAdded(address indexed attestor);
    event AttestorRemoved(address indexed attestor);
    event ThresholdSet(uint16 threshold);

    constructor(address governor_, address[] memory attestors, uint16 threshold_) {
        governor = governor_;
        _change(attestors, new address[](0), threshold_);
    }

    function changeAttestors(address[] calldata add, address[] calldata remove, uint16 threshold_) external {
        if (msg.sender != governor) revert CALLER(governor, msg.sender);
        _change(add, remove, threshold_);
    }

    function isAttestor(address who) external view returns (bool) {
        return _slots[who] != 0;
    }

    function _change(address[] memory add, address[] memory remove, uint16 threshold_) private {
        uint16 count = attestorCount;
        for (uint256 i = 0; i < remove.length; ++i) {
            if (_slots[remove[i]] == 0) revert QUORUM_SIGNER(remove[i]);
            delete _slots[remove[i]];
            --count;
            emit AttestorRemoved(remove[i]);
        }
        uint16 slot = _nextSlot;
        for (uint256 i = 0; i < add.length; ++i) {
            if (add[i] == address(0) || _slots[add[i]] != 0) revert QUORUM_REPEATED(add[i]);
            _slots[add[i]] = slot++;
            ++count;
            emit AttestorAdded(add[i]);
        }
        if (threshold_ == 0 || threshold_ > count || slot > 256) revert QUORUM_SIZE(threshold_, count);
        _nextSlot = slot;
        attestorCount = count;
        threshold = threshold_;
        emit ThresholdSet(threshold_);
    }

    /// Reverts unless `threshold` distinct attestors signed `digest`; a signature is r ‖ s ‖ v, 65 bytes.
    function _requireQuorum(bytes32 digest, bytes[] calldata signatures) internal view {
        uint256 required = threshold;
        if (signatures.length < required) revert QUORUM_SHORT(required, signatures.length);
        uint256 seen;
        for (uint256 i = 0; i < required; ++i) {
            address signer = _recover(digest, signatures[i]);
            uint256 slot = _slots[signer];
            if (slot == 0) revert QUORUM_SIGNER(signer);
            uint256 bit = 1 << (slot - 1);
            if (seen & bit != 0) revert QUORUM_REPEATED(signer);
            seen |= bit;
        }
    }

    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        if (signature.length != 65) revert SIGNATURE(address(0));
        signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        if (signer == address(0)) revert SIGNATURE(address(0));
    }
}
