/**
 * A test contract that tries one mutant after the other within one process: it deploys each suite, sets it up, calls each
 * test and takes the state back. A process for each mutant would spend its time on starting.
 */

export interface Suite {
  /** file:contract, as forge names it. */
  readonly artefact: string;
  /** Functions without arguments. */
  readonly tests: readonly string[];
}

/** Where the runner writes `mutant outcome` lines; outcome 0: every test passed. */
export const verdictsFile = 'contracts/snapshots/verdicts.txt';

/**
 * After each mutant the first suite must pass with none: a test that ends in the middle may leave a cheatcode behind.
 * The test then fails and names the mutant, whose verdict needs a process of its own.
 */
export function runnerSource(contract: string, suites: readonly Suite[]): string {
  const fill = suites.flatMap(({ artefact, tests }, i) => [
    `_suites.push("${artefact}");`,
    '_tests.push();',
    ...tests.map((name) => `_tests[${i}].push(bytes4(keccak256("${name}()")));`),
  ]);
  return `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;
interface RunnerVm {
    function envUint(string calldata name, string calldata delimiter) external view returns (uint256[] memory);
    function setEnv(string calldata name, string calldata value) external;
    function toString(uint256 value) external pure returns (string memory);
    function snapshotState() external returns (uint256);
    function revertToState(uint256 id) external returns (bool);
    function revertToStateAndDelete(uint256 id) external returns (bool);
    function deployCode(string calldata artifact) external returns (address);
    function deal(address who, uint256 balance) external;
    function writeLine(string calldata path, string calldata line) external;
}
contract ${contract} {
    RunnerVm private constant vm = RunnerVm(address(uint160(uint256(keccak256("hevm cheat code")))));
    uint256 private constant GAS = 5e10;
    string[] private _suites;
    bytes4[][] private _tests;
    function setUp() public {
        ${fill.join('\n        ')}
    }
    function test_mutants() public {
        uint256[] memory mutants = vm.envUint("MUTANTS", ",");
        for (uint256 i = 0; i < mutants.length; ++i) {
            uint256 failed = this.judge(mutants[i], _suites.length);
            require(this.judge(0, 1) == 0, string.concat("leak after ", vm.toString(mutants[i])));
            vm.writeLine("${verdictsFile}", string.concat(vm.toString(mutants[i]), " ", vm.toString(failed)));
        }
    }
    function judge(uint256 mutant, uint256 suites) external returns (uint256) {
        vm.setEnv("MUTANT", vm.toString(mutant));
        for (uint256 i = 0; i < suites; ++i) {
            uint256 before = vm.snapshotState();
            address suite = vm.deployCode(_suites[i]);
            vm.deal(suite, type(uint96).max);
            (bool ok,) = suite.call{gas: GAS}(abi.encodeWithSignature("setUp()"));
            uint256 ready = vm.snapshotState();
            for (uint256 k = 0; ok && k < _tests[i].length; ++k) {
                (ok,) = suite.call{gas: GAS}(abi.encodePacked(_tests[i][k]));
                vm.revertToState(ready);
            }
            vm.revertToStateAndDelete(before);
            if (!ok) return i + 1;
        }
        return 0;
    }
}
`;
}
