import type { CommandContext } from './command-context.ts'
export async function doctor(_context: CommandContext): Promise<number> { return 0 }
