import { expect, it } from 'vitest'
import { askingForPerson, formatBrowser, formatClosed } from './format-browser.ts'

const live = { state: 'live', acting: false, hand_over: null } as const
const asks = { ...live, hand_over: { kind: 'captcha', by: null, since: 1 } } as const
const taken = { ...live, acting: true, hand_over: { kind: 'captcha', by: 'human:cli', since: 1 } } as const

it('the browser card says who has a browser before what it does', () => {
  expect(formatBrowser(undefined).words).toBe('closed')
  expect(formatBrowser(live)).toEqual({ tone: 'ok', words: 'live' })
  expect(formatBrowser({ ...live, acting: true }).words).toBe('at work')
  expect(formatBrowser({ ...live, state: 'failed' }).tone).toBe('bad')
  expect(formatBrowser(asks)).toEqual({ tone: 'warn', words: 'asks for a person' })
  expect(formatBrowser(taken).words).toBe('owner (terminal) controls the browser')
})

it('the browser card says of one that was not open that nothing was closed', () => {
  const closed = {
    agent_id: 'scout',
    state: 'closed',
    since: 0,
    reason: null,
    page: null,
    acting: false,
    watchers: 0,
    hand_over: null,
    screen: '/agent-vnc/scout/',
  } as const
  expect(formatClosed({ ...closed, was_open: true })).toContain('is closed')
  expect(formatClosed({ ...closed, was_open: false })).toBe('No browser of scout was open.')
})

it('the browser card counts the requests for a person that no person has accepted yet', () => {
  expect(askingForPerson([live, asks, taken])).toEqual([asks])
  expect(askingForPerson(undefined)).toEqual([])
})
