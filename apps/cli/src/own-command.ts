/** A command that says which option is misspelt, where that leaves one missing which it cannot do without. */
import { Command, type Option } from 'commander';

/** What commander calls and does not name in its types. */
interface Complaints {
  unknownOption(flag: string): never;
}

export class OwnCommand extends Command {
  override createCommand(name?: string): Command {
    return new OwnCommand(name);
  }

  /** Called before unknown options are looked for, which stand behind the operands. */
  missingMandatoryOptionValue({ flags }: Option): never {
    const unknown = this.args.find((word) => /^-./.test(word));
    if (unknown !== undefined) (this as unknown as Complaints).unknownOption(unknown);
    return this.error(`error: required option '${flags}' not specified`, {
      code: 'commander.missingMandatoryOptionValue',
    });
  }
}
