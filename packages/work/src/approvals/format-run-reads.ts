import { visible } from '@flotilla/protocol/shown-text'
import type { OutsideRead } from '@flotilla/foundation/journal'
import type { WaitingRunCosts } from './format-run-costs.ts'

/** How many places are named; the others are counted. */
const namedReadsMax = 12

/** Describes what the run has read, because text from outside may have caused the request. Pure. */
export function formatRunReads({ agentId, reads }: Pick<WaitingRunCosts, 'agentId' | 'reads'>): string {
  if (reads.length === 0)
    return `Since the run was created, ${agentId} has read nothing from a host, an MCP server or a web search.`
  const named = reads.slice(0, namedReadsMax).map(nameOfRead)
  const more = reads.length - named.length
  return `Since the run was created, ${agentId} has read from: ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}.`
}

function nameOfRead({ kind, name }: OutsideRead): string {
  if (kind === 'host') return visible(name)
  return kind === 'mcp-server' ? `the MCP server ${visible(name)}` : `a web search (${visible(name)})`
}
