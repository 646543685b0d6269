// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// The cheatcodes that these tests use.
interface Vm {
    function deployCode(string calldata artifact, bytes calldata args) external returns (address);
    function envOr(string calldata name, uint256 otherwise) external view returns (uint256);
    function warp(uint256 timestamp) external;
    function coinbase(address who) external;
    function roll(uint256 number) external;
    function prank(address sender) external;
    function startPrank(address sender) external;
    function stopPrank() external;
    function deal(address who, uint256 balance) external;
    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function chainId(uint256 id) external;
    function setBlockhash(uint256 number, bytes32 hash) external;
    function readFile(string calldata path) external view returns (string memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function getCode(string calldata artifact) external view returns (bytes memory);
    function parseJsonKeys(string calldata json, string calldata key) external pure returns (string[] memory);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonBytes32Array(string calldata json, string calldata key) external pure returns (bytes32[] memory);
    function parseJsonBytesArray(string calldata json, string calldata key) external pure returns (bytes[] memory);
    function parseJsonUintArray(string calldata json, string calldata key) external pure returns (uint256[] memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function snapshotGasLastCall(string calldata group, string calldata name) external returns (uint256);
    function snapshotValue(string calldata group, string calldata name, uint256 value) external;
    function assume(bool condition) external pure;
    function getBlockTimestamp() external view returns (uint256);
    function getBlockNumber() external view returns (uint256);
    function lastCallGas() external view returns (Gas memory);
    function writeFile(string calldata path, string calldata data) external;

    function snapshotState() external returns (uint256);
    function revertToStateAndDelete(uint256 id) external returns (bool);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);

    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function readDir(string calldata path) external view returns (DirEntry[] memory);

    struct DirEntry {
        string errorMessage;
        string path;
        uint64 depth;
        bool isDir;
        bool isSymlink;
    }

    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
