// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../interfaces/IStepVerifier.sol";
import {FACT_CHUNK, FACT_MISSING, SEAL_LENGTH, SEAL_SELECTOR} from "../Errors.sol";

/// Seals that do not fit one transaction: kept in pieces as code, judged once by one verifier, and from then on a fact
/// that anybody may refer to. Pieces have no owner and no order of their own, so nobody can disturb anybody.
/// contracts/SPEC.md §11.
contract ProofFacts is IStepVerifier {
    uint256 private constant CHUNK_MAX = 24_575;

    /// Judges the assembled seals, which begin with proofSelector.
    IStepVerifier public immutable verifier;
    bytes4 public immutable proofSelector;
    /// Of the seals that refer to a fact, which are nothing else. To be tombstoned together with proofSelector.
    bytes4 public immutable SELECTOR;

    mapping(bytes32 statementDigest => bool) public facts;

    event ChunkStored(address chunk);
    event FactProved(bytes32 indexed statementDigest);

    constructor(IStepVerifier verifier_, bytes4 proofSelector_) {
        verifier = verifier_;
        proofSelector = proofSelector_;
        SELECTOR = bytes4(keccak256(abi.encodePacked("veritrain/fact/1", proofSelector_)));
    }

    /// @param data 1 to 24,575 bytes of a seal
    /// @return chunk an address whose code is a zero byte and the data
    function store(bytes calldata data) external returns (address chunk) {
        if (data.length == 0 || data.length > CHUNK_MAX) revert FACT_CHUNK(address(0), data.length);
        // PUSH2 length, RETURNDATASIZE, DUP2, PUSH1 10, RETURNDATASIZE, CODECOPY, RETURN; then a zero byte: STOP.
        bytes memory code = abi.encodePacked(hex"61", uint16(data.length + 1), hex"3d81600a3d39f300", data);
        assembly ("memory-safe") {
            chunk := create(0, add(code, 32), mload(code))
        }
        if (chunk == address(0)) revert FACT_CHUNK(address(0), data.length);
        emit ChunkStored(chunk);
    }

    /// @param chunks whose data, one after the other, is the seal
    function prove(bytes32 statementDigest, address[] calldata chunks) external {
        bytes memory seal = _assemble(chunks);
        if (seal.length < 4 || bytes4(seal) != proofSelector) revert SEAL_SELECTOR(bytes4(seal));
        verifier.verify(seal, statementDigest);
        facts[statementDigest] = true;
        emit FactProved(statementDigest);
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length != 4) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        if (!facts[statementDigest]) revert FACT_MISSING(statementDigest);
    }

    function _assemble(address[] calldata chunks) private view returns (bytes memory seal) {
        uint256 length;
        for (uint256 i = 0; i < chunks.length; ++i) {
            uint256 size = chunks[i].code.length;
            if (size < 2) revert FACT_CHUNK(chunks[i], size);
            length += size - 1;
        }
        seal = new bytes(length);
        uint256 at_;
        for (uint256 i = 0; i < chunks.length; ++i) {
            address chunk = chunks[i];
            uint256 size = chunk.code.length - 1;
            assembly ("memory-safe") {
                extcodecopy(chunk, add(add(seal, 32), at_), 1, size)
            }
            at_ += size;
        }
    }
}
