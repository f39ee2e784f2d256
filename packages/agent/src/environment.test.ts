import { describe, expect, test } from 'vitest'
import { verifies } from '../../../tests/verifies.ts'
import { readEnvironment } from './environment.ts'

const good = {
  FLOTILLA_AGENT_ID: 'w1',
  FLOTILLA_AGENT_KIND: 'worker',
  FLOTILLA_MESH_URL: 'http://10.1.2.3:8420',
  FLOTILLA_MODEL: 'a/b',
  FLOTILLA_MESH_PUBLIC_KEY: 'A'.repeat(43),
}

describe('the environment', () => {
  test('what is missing has its default', () => {
    verifies('limits:chat-rounds-per-session')
    expect(readEnvironment(good)).toMatchObject({
      port: 8400,
      dataDirectory: '/data',
      briefingDirectory: '/briefing',
      mesh: { host: '10.1.2.3', port: 8420 },
      taskIterationsMax: 20,
      chatRoundsPerTurnMax: 30,
      chatRoundsPerSessionMax: 200,
    })
  })

  test('one message names everything that is wrong', () => {
    const wrong = { ...good, FLOTILLA_AGENT_ID: '', FLOTILLA_AGENT_KIND: 'boss', FLOTILLA_PORT: 'x' }
    expect(() => readEnvironment(wrong)).toThrow(
      /FLOTILLA_AGENT_KIND is boss.*FLOTILLA_AGENT_ID is missing.*FLOTILLA_PORT/,
    )
  })

  test.each([
    'https://10.1.2.3:8420',
    'http://mesh.example:8420',
    'http://10.1.2.3',
    'http://10.1.2.3:8420/x',
  ])('the mesh is not at %s', (url) => {
    expect(() => readEnvironment({ ...good, FLOTILLA_MESH_URL: url })).toThrow(/FLOTILLA_MESH_URL/)
  })

  test.each([
    ['0', 1, 1, 1],
    ['7', 7, 7, 7],
    ['5000', 100, 200, 1000],
    ['many', 20, 30, 200],
    ['', 20, 30, 200],
  ])('limits of %s are brought into their range', (...[value, task, turn, session]) => {
    verifies(
      'limits:task-iterations:clamp',
      'limits:chat-rounds-per-turn:clamp',
      'limits:chat-rounds-per-session:clamp',
    )
    const read = readEnvironment({
      ...good,
      FLOTILLA_MAX_ITERATIONS: value,
      FLOTILLA_CHAT_MAX_TOOL_ROUNDS: value,
      FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: value,
    })
    expect([read.taskIterationsMax, read.chatRoundsPerTurnMax, read.chatRoundsPerSessionMax]).toEqual([
      task,
      turn,
      session,
    ])
  })

  test('programs get their own variables and none of the agent’s', () => {
    const read = readEnvironment({ ...good, OPENAI_API_KEY: 'program-token', HTTP_PROXY: 'http://p' })
    expect(read.programEnvironment).toEqual({
      OPENAI_API_KEY: 'program-token',
      HTTP_PROXY: 'http://p',
      NODE_USE_ENV_PROXY: '1',
    })
  })
})
