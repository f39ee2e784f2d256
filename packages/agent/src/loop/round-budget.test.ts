import { describe, expect, test } from 'vitest'
import { countContinuation, countRound, judgeRound } from './round-budget.ts'
import type { RoundCount, RoundLimits } from './round-budget.ts'

const none: RoundCount = { turn: 0, session: 0, continues: 0 }
const chat: RoundLimits = {
  kind: 'chat',
  perTurnMax: 30,
  perSessionMax: 200,
}

/** Plays a turn to its end; returns how many rounds it had and how it ended. */
function playTurn(bounds: RoundLimits, start: RoundCount) {
  let count = start
  let continues = 0
  for (let rounds = 0; rounds < 5000; rounds += 1) {
    const verdict = judgeRound(bounds, count)
    if (verdict === 'exhausted') return { rounds, continues, count, last: false }
    if (verdict === 'continue') {
      count = countContinuation(count)
      continues += 1
      rounds -= 1
      continue
    }
    count = countRound(count)
    if (verdict === 'last') return { rounds: rounds + 1, continues, count, last: true }
  }
  throw new Error('the turn does not end')
}

describe('the round budget', () => {
  test('a chat turn has thirty rounds and one answer without tools', () => {
    expect(playTurn(chat, none)).toMatchObject({ rounds: 31, last: true, continues: 0 })
  })

  test('a task has its twenty iterations, of which the last must close it', () => {
    const task: RoundLimits = { kind: 'task', iterationsMax: 20 }
    expect(playTurn(task, none)).toMatchObject({ rounds: 20, last: true })
    expect(judgeRound(task, { ...none, turn: 20 })).toBe('exhausted')
  })

  test('a round in the middle goes on as usual', () => {
    expect(judgeRound(chat, { turn: 3, session: 20, continues: 1 })).toBe('go')
    expect(judgeRound({ kind: 'heartbeat', iterationsMax: 5 }, { ...none, turn: 3 })).toBe('go')
  })

  test('a turn that had its last answer has none more', () => {
    expect(judgeRound(chat, { ...none, turn: 30 })).toBe('last')
    expect(judgeRound(chat, { ...none, turn: 31 })).toBe('exhausted')
  })

  test('a task of one iteration must close at once', () => {
    expect(judgeRound({ kind: 'task', iterationsMax: 1 }, none)).toBe('last')
  })

  test('a session that used its rounds goes on after a prompt, with fresh counts', () => {
    expect(judgeRound(chat, { turn: 3, session: 200, continues: 0 })).toBe('continue')
    expect(countContinuation({ turn: 3, session: 200, continues: 0 })).toEqual({
      turn: 3,
      session: 0,
      continues: 1,
    })
  })

  test('five continuations are all', () => {
    expect(judgeRound(chat, { turn: 3, session: 200, continues: 4 })).toBe('continue')
    expect(judgeRound(chat, { turn: 3, session: 200, continues: 5 })).toBe('last')
    expect(judgeRound(chat, { turn: 0, session: 201, continues: 5 })).toBe('exhausted')
  })

  test('a session ends for good after six times its two hundred rounds', () => {
    const played = playTurn({ ...chat, perTurnMax: 4000 }, none)
    expect(played).toMatchObject({ rounds: 1201, continues: 5, last: true })
    expect(playTurn(chat, { ...played.count, turn: 0 })).toMatchObject({ rounds: 0, last: false })
  })
})
