// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// EIP-712 domain {name, "1", chainId, verifyingContract}. In place of OpenZeppelin's EIP712, whose ERC-5267 getter
/// takes 0.7 KB that Settlement does not have.
abstract contract TypedData {
    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private immutable _nameHash;
    bytes32 private immutable _separator;
    uint256 private immutable _chainId;

    constructor(string memory name) {
        _nameHash = keccak256(bytes(name));
        _chainId = block.chainid;
        _separator = _build(keccak256(bytes(name)));
    }

    /// Rebuilt after a chain split, so that signatures of one chain are worth nothing on the other.
    function domainSeparator() public view returns (bytes32) {
        return block.chainid == _chainId ? _separator : _build(_nameHash);
    }

    function _typedDigest(bytes32 structHash) internal view returns (bytes32) {
        return MessageHashUtils.toTypedDataHash(domainSeparator(), structHash);
    }

    function _build(bytes32 nameHash) private view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN, nameHash, keccak256("1"), block.chainid, address(this)));
    }
}
