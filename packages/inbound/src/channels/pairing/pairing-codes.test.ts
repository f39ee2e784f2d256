import { channelPairing } from '@flotilla/protocol/channels-api'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import type { HumanCaller } from '../../../../identity/src/access/index.ts'
import { codeIn, createPairingCodes } from './pairing-codes.ts'

const ann = { kind: 'human', person: 'ann' } as unknown as HumanCaller
const bob = { kind: 'human', person: 'bob' } as unknown as HumanCaller
const wrong = 'WRONGWRG'

function opened() {
  const clock = createManualClock()
  let next = 0
  const codes = createPairingCodes({ clock, randomNumber: (below) => next++ % below })
  return { clock, codes }
}

describe('a pairing code', () => {
  test('a pairing code uses the whole alphabet, one random number per character', () => {
    const drawn: number[] = []
    const codes = createPairingCodes({
      clock: createManualClock(),
      randomNumber: (below) => {
        drawn.push(below)
        return below - drawn.length
      },
    })
    const { alphabet, codeChars } = channelPairing
    expect(codes.issue('slack', ann).code).toBe(alphabet.slice(-codeChars).split('').toReversed().join(''))
    expect(drawn).toEqual(Array.from({ length: codeChars }, () => alphabet.length))
  })

  test('a pairing code is valid for exactly ten minutes', async () => {
    const { clock, codes } = opened()
    const { code, expiresAt } = codes.issue('slack', ann)
    expect(expiresAt).toBe(clock.now() + 600_000)
    await clock.advance(599_999)
    expect(codes.isOpen('slack')).toBe(true)
    expect(codes.find('slack')).toEqual({ state: 'open', expires_at: expiresAt, wrong_tries: 0, detail: '' })
    await clock.advance(1)
    expect(codes.isOpen('slack')).toBe(false)
    expect(codes.find('slack')?.state).toBe('ended')
    expect(codes.take('slack', '1', code)).toBeNull()
  })

  test('an expired pairing code is shown as ended to every caller', async () => {
    const { clock, codes } = opened()
    codes.issue('slack', ann)
    await clock.advance(600_000)
    expect(codes.find('slack')?.state).toBe('ended')
  })

  test('a pairing code ends when all senders together have guessed too often', () => {
    const codes = createPairingCodes({ clock: createManualClock(), randomNumber: () => 0, allTriesMax: 3 })
    const { code } = codes.issue('slack', ann)
    for (const sender of ['1', '2']) expect(codes.take('slack', sender, wrong)).toBeNull()
    expect(codes.find('slack')?.state).toBe('open')
    expect(codes.take('slack', '3', wrong)).toBeNull()
    expect(codes.find('slack')).toMatchObject({ state: 'ended', wrong_tries: 3 })
    expect(codes.take('slack', '4', code)).toBeNull()
  })

  test('a pairing code is valid once, on its own channel, for any sender', () => {
    const { codes } = opened()
    const { code } = codes.issue('slack', ann)
    codes.issue('discord', bob)
    expect(codes.take('discord', '1', code)).toBeNull()
    expect(codes.take('slack', '1', code)).toBe(ann)
    expect(codes.take('slack', '1', code)).toBeNull()
    expect(codes.isOpen('slack')).toBe(false)
    expect(codes.isOpen('discord')).toBe(true)
  })

  test('a new pairing code replaces the previous one', () => {
    const { codes } = opened()
    const { code: first } = codes.issue('slack', ann)
    const { code: second } = codes.issue('slack', bob)
    expect(codes.take('slack', '1', first)).toBeNull()
    expect(codes.take('slack', '1', second)).toBe(bob)
  })

  test('five wrong attempts lock out their sender and no one else', () => {
    const { codes } = opened()
    const { code } = codes.issue('slack', ann)
    for (let time = 0; time < channelPairing.triesMax; time++) {
      expect(codes.take('slack', 'thief', wrong)).toBeNull()
    }
    expect(codes.take('slack', 'thief', code)).toBeNull()
    expect(codes.find('slack')?.wrong_tries).toBe(channelPairing.triesMax)
    for (let time = 0; time < channelPairing.triesMax - 1; time++) codes.take('slack', 'ann', wrong)
    expect(codes.take('slack', 'ann', code)).toBe(ann)
  })

  test('attempts are counted for a limited number of senders, and others can still send the right code', () => {
    const { codes } = opened()
    const { code } = codes.issue('slack', ann)
    for (let one = 0; one < channelPairing.sendersMax; one++) codes.take('slack', `flood${one}`, wrong)
    for (let time = 0; time < channelPairing.triesMax + 1; time++) codes.take('slack', 'late', wrong)
    for (let time = 0; time < channelPairing.triesMax - 1; time++) codes.take('slack', 'flood7', wrong)
    expect(codes.take('slack', 'flood7', code)).toBeNull()
    expect(codes.take('slack', 'late', code)).toBe(ann)
  })

  test.each(['paired', 'refused'] as const)('the result of a used pairing code is shown: %s', (end) => {
    const { codes } = opened()
    const { code } = codes.issue('slack', ann)
    codes.settle('slack', end, 'too early')
    expect(codes.find('slack')?.state).toBe('open')
    codes.take('slack', '1', code)
    expect(codes.find('slack')?.state).toBe('open')
    codes.settle('slack', end, 'as ann')
    expect(codes.find('slack')).toMatchObject({ state: end, detail: 'as ann' })
    codes.settle('slack', end === 'paired' ? 'refused' : 'paired', 'too late')
    expect(codes.find('slack')?.state).toBe(end)
    codes.settle('discord', end, 'of none')
    expect(codes.find('discord')).toBeNull()
  })

  test('the pairing code of a removed channel is forgotten', () => {
    const { codes } = opened()
    const { code } = codes.issue('slack', ann)
    codes.close('slack')
    expect(codes.find('slack')).toBeNull()
    expect(codes.take('slack', '1', code)).toBeNull()
  })
})

test.each([
  ['ABCD2345', 'ABCD2345'],
  ['  abcd2345\n', 'ABCD2345'],
  ['/start ABCD2345', 'ABCD2345'],
  ['/pair  abcd2345', 'ABCD2345'],
  ['/start@a_bot ABCD2345', 'ABCD2345'],
  [`/start@${'x'.repeat(64)} ABCD2345`, 'ABCD2345'],
  [`/start@${'x'.repeat(65)} ABCD2345`, null],
  ['/start@ ABCD2345', null],
  ['/startABCD2345', null],
  ['/begin ABCD2345', null],
  ['x/start ABCD2345', null],
  ['the code is ABCD2345', null],
  ['ABCD2345 please', null],
  ['ABCD234', null],
  ['ABCD23456', null],
  ['ABCD-345', null],
  ['ABCD0345', null],
  ['ABCDI345', null],
  ['/start', null],
  ['', null],
])('in %j the code is %j', (text, code) => {
  expect(codeIn(text)).toBe(code)
})
