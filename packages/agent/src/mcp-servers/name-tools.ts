import type { ServerTool } from './describe-tools.ts'

/** What model providers take as the name of a tool. */
const nameMaxChars = 64
/** Tools of all servers together; providers take 128 with those of the agent. */
export const serverToolsMax = 64

export interface NamedTool {
  readonly server: string
  readonly tool: ServerTool
  /** As the model calls it. */
  readonly name: string
}

/**
 * Pure. A tool keeps its name where nothing else has it. On a clash it is `server__tool`: the agent's own tools always
 * keep theirs, and of two servers neither does, so that it does not matter who was first. Case makes no difference.
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

function free(wanted: string, used: ReadonlySet<string>): string {
  const name = wanted.slice(0, nameMaxChars)
  for (let number = 2; ; number += 1) {
    const candidate = number === 2 ? name : `${name.slice(0, nameMaxChars - 4)}_${number - 1}`
    if (!used.has(candidate.toLowerCase())) return candidate
  }
}
