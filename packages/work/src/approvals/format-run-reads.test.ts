import { expect, test } from 'vitest'
import { formatRunReads } from './format-run-reads.ts'

test('a person sees where a run has read from, also that it has read nothing', () => {
  const host = (name: string) => ({ kind: 'host' as const, name })
  const reads = [
    host('example.org'),
    { kind: 'mcp-server', name: 'tickets' },
    { kind: 'web-search', name: 'brave' },
  ] as const
  expect(formatRunReads({ agentId: 'a', reads })).toBe(
    'Since the run was created, a has read from: example.org, the MCP server tickets, a web search (brave).',
  )
  const many = Array.from({ length: 20 }, (_, at) => host(`h${at}.org`))
  expect(formatRunReads({ agentId: 'a', reads: many })).toMatch(/h11\.org and 8 more\.$/)
  expect(formatRunReads({ agentId: 'a', reads: [] })).toContain('has read nothing from a host')
})
