import { describe, expect, test } from 'vitest'
import { effectsOfExchange, serverEffects } from './server-effects.ts'

const toolsOf = (body: string, method = 'POST') => serverEffects({ method, body }).tools
const call = (name: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
})

describe('the tools that a message to an MCP server calls', () => {
  test.each<readonly [unknown, readonly (string | null)[]]>([
    [call('delete'), ['delete']],
    [
      [call('a'), call('b')],
      ['a', 'b'],
    ],
    [call(7), [null]],
    [{ ...call('a'), params: null }, [null]],
    [{ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }, []],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, []],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, []],
    [{ jsonrpc: '2.0', id: 1, method: 'server/discover' }, []],
    [{ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' }, []],
    [{ jsonrpc: '2.0', id: 1, result: {} }, []],
    ...['list', 'get', 'result', 'cancel'].map(
      (of) => [{ jsonrpc: '2.0', id: 1, method: `tasks/${of}`, params: { taskId: 't' } }, []] as const,
    ),
    [{ jsonrpc: '2.0', id: 1, method: 'tasks/update', params: { taskId: 't' } }, [null]],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/callMore' }, [null]],
    [{ jsonrpc: '2.0', id: 1, method: ['tools/call'] }, [null]],
    // Some servers read the names of members in any case, and of two such members the last one.
    [{ jsonrpc: '2.0', id: 1, method: 'tools/list', Method: 'tools/call', params: { name: 'a' } }, [null]],
    [{ jsonrpc: '2.0', id: 1, METHOD: 'tools/call', params: { name: 'a' } }, [null]],
    [{ ...call('a'), Params: { name: 'b' } }, [null]],
    [{ ...call('a'), 'param\u017f': { name: 'b' } }, [null]],
    [{ ...call('a'), params: { name: 'a', Name: 'b', arguments: {} } }, [null]],
    [{ ...call('a'), params: { name: 'a', arguments: { Name: 'b', Method: 'c' } } }, ['a']],
    [[], []],
    ['text', [null]],
    [[[call('a')]], [null]],
  ])('%j calls %j', (message, tools) => {
    expect(toolsOf(JSON.stringify(message))).toEqual(tools)
  })

  test('a body that is not JSON counts as a call of an unknown tool', () => {
    expect(toolsOf('{')).toEqual([null])
    expect(toolsOf('')).toEqual([null])
  })

  test('an exchange without a message calls none', () => {
    expect(toolsOf('', 'GET')).toEqual([])
    expect(toolsOf(JSON.stringify(call('a')), 'DELETE')).toEqual([])
  })

  test('the message is sent as it was read, so that a second name or method is not hidden in it', () => {
    const body =
      '{"method":"tools/list","method":"tools/call","params":{"name":"read","name":"delete"}, "n":1.50}'
    expect(serverEffects({ method: 'POST', body })).toEqual({
      tools: ['delete'],
      body: '{"method":"tools/call","params":{"name":"delete"},"n":1.50}',
    })
  })

  test('each called tool is an effect, and an exchange that only reads is one without a tool', () => {
    const at = { method: 'POST', host: 'crm.test', path: '/mcp', credentials: ['key'] }
    const of = { tool: 'mcp', mcpServer: 'crm', ...at }
    expect(effectsOfExchange('crm', ['a', null], at)).toEqual([
      { ...of, mcpTool: 'a' },
      { ...of, mcpTool: null },
    ])
    expect(effectsOfExchange('crm', [], at)).toEqual([of])
  })
})
