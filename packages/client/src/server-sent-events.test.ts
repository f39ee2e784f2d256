import { describe, expect, it } from 'vitest'
import { createServerSentEventParser } from './server-sent-events.ts'

const text =
  ': keep-alive\n\ndata: {"a":1}\n\nevent: named\r\ndata: one\r\ndata: two\r\n\r\nid: 7\nretry: 10\ndata:\n\n'
const events = [
  { event: 'message', data: '{"a":1}' },
  { event: 'named', data: 'one\ntwo' },
  { event: 'message', data: '' },
]

describe('server-sent event parser', () => {
  it.each([1, 2, 3, 5, 7, 1000])('gives the same events from pieces of %i characters', (size) => {
    const parser = createServerSentEventParser()
    const given = []
    for (let at = 0; at < text.length; at += size) given.push(...parser.push(text.slice(at, at + size)))
    expect(given).toEqual(events)
  })

  it('gives no event for comments and keeps an unfinished one back', () => {
    const parser = createServerSentEventParser()
    expect(parser.push(': still here\n\n')).toEqual([])
    expect(parser.push('data: half')).toEqual([])
    expect(parser.push('\n\n')).toEqual([{ event: 'message', data: 'half' }])
  })

  it('refuses an event that never ends', () => {
    const parser = createServerSentEventParser()
    expect(() => {
      for (let sent = 0; sent < 20; sent++) parser.push('data: '.padEnd(1024 * 1024, 'x'))
    }).toThrow('bound')
  })
})
