import type { ServerTool } from './describe-tools.ts'

/** Longest tool name that model providers accept. */
const nameMaxChars = 64
/** Number of tools of all servers together. No prompt holds their definitions, but the agent's memory does. */
export const serverToolsMax = 512

export interface NamedTool {
  readonly server: string
  readonly tool: ServerTool
  /** The name that the model uses. */
  readonly name: string
}

/**
 * Names the servers' tools. A tool keeps its name if no other tool has it. On a clash the agent's own tool keeps the
 * name, and each server's tool becomes `server__tool`, whatever the order of servers. Ignores case. Pure.
 */
export function nameTools(
  servers: readonly { readonly name: string; readonly tools: readonly ServerTool[] }[],
  taken: Iterable<string>,
): { readonly named: readonly NamedTool[]; readonly leftOut: number } {
  const offered = servers.flatMap(({ name: server, tools }) =>
    tools.map((tool) => ({ server, tool, plain: plainName(tool.name) })),
  )
  const counts = new Map<string, number>()
  for (const { plain } of offered) counts.set(plain.toLowerCase(), (counts.get(plain.toLowerCase()) ?? 0) + 1)
  const used = new Set([...taken].map((name) => name.toLowerCase()))
  const own = new Set(used)
  const named = offered.slice(0, serverToolsMax).map(({ server, tool, plain }) => {
    const clashes = own.has(plain.toLowerCase()) || (counts.get(plain.toLowerCase()) ?? 0) > 1
    const name = free(clashes ? `${server}__${plain}` : plain, used)
    used.add(name.toLowerCase())
    return { server, tool, name }
  })
  return { named, leftOut: Math.max(0, offered.length - serverToolsMax) }
}

function plainName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, nameMaxChars)
  return /^[a-zA-Z0-9]/.test(plain) ? plain : `tool${plain}`.slice(0, nameMaxChars)
}

function free(preferred: string, used: ReadonlySet<string>): string {
  const name = preferred.slice(0, nameMaxChars)
  for (let number = 2; ; number += 1) {
    const candidate = number === 2 ? name : `${name.slice(0, nameMaxChars - 4)}_${number - 1}`
    if (!used.has(candidate.toLowerCase())) return candidate
  }
}
