import type { CommandContext } from './command-context.ts'
export async function reset(_context: CommandContext): Promise<number> { return 0 }
