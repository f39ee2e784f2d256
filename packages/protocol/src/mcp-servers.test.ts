import { describe, expect, test } from 'vitest'
import { mcpBriefs, mcpServersSchema, readMcpServer } from './mcp-servers.ts'

const faultOf = (raw: unknown): string => readMcpServer(raw).fault ?? 'none'
const withHeaders = (headers: Record<string, string>) => ({ url: 'https://a.example/mcp', headers })

describe('a server as it is configured', () => {
  test('a server as it is configured is taken in the form that the field uses', () => {
    const servers = {
      files: { command: 'npx', args: ['-y', 'files'], env: { HOME: '/data' } },
      wiki: {
        type: 'http',
        url: 'https://wiki.example/mcp',
        headers: { Authorization: 'Bearer $CRED{wiki}' },
      },
      old: { type: 'sse', url: 'https://old.example/sse', disabled: true, startupTimeoutMs: 500 },
    }
    expect(mcpServersSchema.parse(servers)).toMatchObject(servers)
  })

  test('a server as it is configured is refused in words that say what to do', () => {
    const cases: readonly (readonly [raw: unknown, words: string])[] = [
      [7, 'not an object'],
      [{}, 'either command'],
      [{ command: 'a', url: 'https://a.example' }, 'either command'],
      [{ command: '' }, 'command is a text of 1 to 4096'],
      [{ command: 'a', args: 'b' }, 'args is a list of texts'],
      [{ command: 'a', env: { '1': 'x' } }, 'env.1 is not a name'],
      [{ command: 'a', env: { FLOTILLA_AGENT_ID: 'x' } }, 'are reserved'],
      [{ command: 'a', cwd: '/' }, 'there is no field cwd'],
      [{ command: 'a', startupTimeoutMs: 5 }, 'from 500 to 120000'],
      [{ url: 'ftp://a.example' }, 'begins with https://'],
      [{ url: 'no address' }, 'url is not an address'],
      [{ url: 'https://$CRED{host}/mcp' }, 'the host cannot be a handle'],
      [{ url: 'https://a.example/$CRED{' }, 'a handle is $CRED{name}'],
      [{ url: 'https://u:secret@a.example/' }, 'store it as a credential'],
      [withHeaders({ 'mcp-session-id': 'x' }), 'set by the transport'],
      [withHeaders({ 'x-key': 'a\nb' }), 'not one line'],
      [withHeaders({ authorization: 'Bearer abc' }), 'flotilla credentials set NAME --host a.example'],
    ]
    for (const [raw, words] of cases) expect(faultOf(raw), JSON.stringify(raw)).toContain(words)
    expect(() => mcpServersSchema.parse({ 'a b': { command: 'c' } })).toThrow(
      'is not a valid name of a server',
    )
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`s${at}`, { command: 'c' }]))
    expect(() => mcpServersSchema.parse(many)).toThrow('at most 16')
  })

  test('a server as it is configured takes no handle into a container: not in the command, its arguments or its environment', () => {
    for (const raw of [
      { command: '$CRED{a}' },
      { command: 'a', args: ['--key', '$CRED{a}'] },
      { command: 'a', env: { KEY: 'x $CRED{a}' } },
    ]) {
      expect(faultOf(raw)).toContain("its value would enter the agent's container")
    }
  })
})

describe('what an agent is told', () => {
  test('the text for an agent has no header, no handle and no user name, and nothing of a disabled server', () => {
    const briefs = mcpBriefs(
      mcpServersSchema.parse({
        wiki: {
          url: 'https://u:$CRED{p}@a.example/$CRED{key}?k=$CRED{key}',
          headers: { 'x-key': '$CRED{key}' },
        },
        off: { command: 'a', disabled: true },
      }),
    )
    expect(briefs).toEqual([
      {
        kind: 'remote',
        name: 'wiki',
        url: 'https://a.example/handle?k=handle',
        transport: 'either',
        startupTimeoutMs: 15_000,
        callTimeoutMs: 120_000,
        tools: null,
      },
    ])
  })
})
