/** apps/cli/COMMANDS.md: every command with its options, as the program itself knows them. */
import { Help, type Argument, type Command } from 'commander';

interface NamedCommand {
  /** The words that call it, `veritrain` first. */
  readonly name: string;
  readonly command: Command;
}

/** Every command below one, a group before its members. */
function commandsBelow(command: Command, above = command.name()): NamedCommand[] {
  return command.commands.flatMap((child) => {
    const name = `${above} ${child.name()}`;
    return [{ name, command: child }, ...commandsBelow(child, name)];
  });
}

const head = `# Commands

Every command of \`veritrain\` with its options. \`npm run bless\` writes this page from the commands themselves;
\`--help\` after a command prints its part of it. [README.md](README.md) groups them by what they are for.
`;

/** The page as Markdown. */
export function renderReference(program: Command): string {
  const sections = commandsBelow(program).map(
    ({ name, command }) => `\n## ${name}\n\n\`\`\`text\n${helpOf(name, command).trimEnd()}\n\`\`\`\n`,
  );
  return [head, ...sections].join('');
}

/** Its help, as wide on every terminal. */
function helpOf(name: string, command: Command): string {
  const places = command.commands.length > 0 ? ['<command>'] : command.registeredArguments.map(placeOf);
  const help = command.createHelp();
  const own: Partial<Help> = {
    helpWidth: 110,
    commandUsage: () => [name, ...places, '[options]'].join(' '),
    visibleOptions: () => command.options.filter((option) => !option.hidden),
    visibleCommands: () => [...command.commands],
    optionDescription: (option) =>
      `${Help.prototype.optionDescription.call(help, option)}${option.mandatory ? ' (required)' : ''}`,
  };
  Object.assign(help, own);
  return help.formatHelp(command, help);
}

function placeOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
