// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Signatures} from "./libraries/Signatures.sol";
import {Statements} from "./libraries/Statements.sol";
import {Terms} from "./Types.sol";
import {
    AVAILABILITY_ENDS,
    DELIVERY_KEY,
    PUBLISH_CHUNK,
    PUBLISH_HASHES,
    PUBLISH_INDEX,
    PUBLISH_MISSING,
    QUORUM_SHORT
} from "./Errors.sol";

/// Whether a sealed result can be had: what Availability says of a job, and which ciphertexts were published here in
/// chunks. It holds no money. contracts/SPEC.md §12.
contract Delivery {
    uint256 public constant CHUNK_BYTES = 98_304;
    uint256 public constant CHUNKS_MAX = 171; // 16 MiB

    mapping(bytes32 ciphertextDigest => uint256 bits) private _published;

    event ChunkPublished(bytes32 indexed ciphertextDigest, uint256 index, uint256 chunks);
    event CiphertextPublished(bytes32 indexed ciphertextDigest);

    /// Anyone, also in advance: the chunk stands in this transaction's calldata from then on.
    /// @param hashes of all chunks, SHA-256
    /// @param length of the ciphertext
    /// @param index  of the chunk that is given
    function publish(bytes32[] calldata hashes, uint64 length, uint256 index, bytes calldata chunk)
        external
        returns (bytes32 ciphertextDigest)
    {
        uint256 count = (uint256(length) + CHUNK_BYTES - 1) / CHUNK_BYTES;
        if (count == 0 || count > CHUNKS_MAX || hashes.length != count) revert PUBLISH_HASHES(count, hashes.length);
        if (index >= count) revert PUBLISH_INDEX(index, count);
        uint256 size = index + 1 == count ? length - index * CHUNK_BYTES : CHUNK_BYTES;
        if (chunk.length != size || sha256(chunk) != hashes[index]) revert PUBLISH_CHUNK(index, size);
        ciphertextDigest = sha256(abi.encodePacked("veritrain/chunks/1", length, hashes));
        uint256 bits = _published[ciphertextDigest] | (1 << index);
        _published[ciphertextDigest] = bits;
        emit ChunkPublished(ciphertextDigest, index, count);
        if (bits == (1 << count) - 1) {
            _published[ciphertextDigest] = type(uint256).max;
            emit CiphertextPublished(ciphertextDigest);
        }
    }

    function isPublished(bytes32 ciphertextDigest) public view returns (bool) {
        return _published[ciphertextDigest] == type(uint256).max;
    }

    /// Bit i: chunk i was published; all ones when every chunk was.
    function publishedChunks(bytes32 ciphertextDigest) external view returns (uint256) {
        return _published[ciphertextDigest];
    }

    /// Reverts unless all of the ciphertext behind `delivered` was published.
    function requirePublished(bytes32 delivered, bytes32 ciphertextDigest, bytes32 keyCommit) external view {
        if (Statements.delivery(ciphertextDigest, keyCommit) != delivered) revert DELIVERY_KEY();
        if (!isPublished(ciphertextDigest)) revert PUBLISH_MISSING(ciphertextDigest);
    }

    /// Reverts unless the key broker, or max(1, needed) attestors, say that the ciphertext can be had until `until`, which
    /// must leave the client the time of a second complaint. The caller, a Settlement, gives the domain.
    function requireAvailable(
        bytes32 job,
        Terms calldata terms,
        bytes32 delivered,
        bytes32 ciphertextDigest,
        bytes32 keyCommit,
        uint40 until,
        bytes[] calldata signatures
    ) external view {
        if (Statements.delivery(ciphertextDigest, keyCommit) != delivered) revert DELIVERY_KEY();
        uint256 least = block.timestamp + terms.windows.ack;
        if (until < least) revert AVAILABILITY_ENDS(least, until);
        bytes32 digest = Statements.digest(msg.sender, Statements.availability(job, ciphertextDigest, until));
        if (signatures.length == 0) revert QUORUM_SHORT(1, 0);
        if (Signatures.recover(digest, signatures[0]) == terms.keyBroker) return;
        Signatures.requireQuorum(terms, digest, signatures, false);
    }
}
