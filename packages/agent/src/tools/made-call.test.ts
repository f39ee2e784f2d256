import { describe, expect, test } from 'vitest'
import { madeCall } from './made-call.ts'

const call = (text: string, name = 'call_tool') => ({ id: 'c1', name, arguments: text })

describe('a call by call_tool', () => {
  test('a call by call_tool means the tool that it names, with the inner arguments', () => {
    expect(madeCall(call('{"name":"set_cron","arguments":{"a":1}}'))).toEqual(call('{"a":1}', 'set_cron'))
    expect(madeCall(call('{"name":"list_cron"}'))).toEqual(call('{}', 'list_cron'))
    expect(madeCall(call('{"name":"list_cron","arguments":null}'))).toEqual(call('{}', 'list_cron'))
  })

  test('a call by call_tool may have the inner arguments as a text', () => {
    expect(madeCall(call('{"name":"set_cron","arguments":"{\\"a\\":1}"}'))).toEqual(
      call('{"a":1}', 'set_cron'),
    )
    expect(madeCall(call('{"name":"set_cron","arguments":"{\\"a\\":"}')).arguments).toBe('{"a":')
  })

  test('a call by call_tool keeps numbers as they were written', () => {
    const inner = '{"id":12345678901234567890,"part":0.10}'
    expect(madeCall(call(`{"name":"mcp_say","arguments":${inner}}`)).arguments).toBe(inner)
  })

  test.each(['', '{', '[]', '{"name":7}', '{"name":""}', '{"arguments":{}}', '{"name":"call_tool"}'])(
    'a call by call_tool that names no other tool stays as it is: %s',
    (text) => {
      const made = call(text)
      expect(madeCall(made)).toBe(made)
    },
  )

  test('a call by another tool is not changed', () => {
    const made = call('{"name":"set_cron"}', 'write_file')
    expect(madeCall(made)).toBe(made)
  })
})
