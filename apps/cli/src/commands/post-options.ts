/** Options of commands that post what they found to the page of a node. */
import type { Command } from 'commander';
import { nodeId } from './ids.js';

export function addPostOptions(command: Command): Command {
  return command
    .option('--post <node>', 'id of this machine’s node, as in node list: its page then shows what was found', nodeId)
    .option('--url <url>', 'control plane to post to; else the client profile’s')
    .option('--api-key <file>', 'file with the operator’s API key; else VERITRAIN_API_KEY, else the profile’s');
}
