import { describe, expect, it } from 'vitest'
import { linesOf, parseMeshLine } from './mesh-lines.ts'

describe('a line of the mesh', () => {
  it.each([
    ['{"progress":"Building the image"}', { kind: 'progress', words: 'Building the image' }],
    [
      '{"progress":"Making it","failed":{"step":"Fetching it","why":"Nobody gave it."}}',
      {
        kind: 'progress',
        words: 'Making it',
        failed: { step: 'Fetching it', why: 'Nobody gave it.' },
      },
    ],
    [
      '{"ready":true,"url":"http://127.0.0.1:8420","pid":7,"more":1}',
      { kind: 'ready', url: 'http://127.0.0.1:8420', pid: 7, notices: [] },
    ],
    [
      '{"ready":true,"url":"http://127.0.0.1:8420","pid":7,"notices":["Know this."]}',
      { kind: 'ready', url: 'http://127.0.0.1:8420', pid: 7, notices: ['Know this.'] },
    ],
    [
      '{"problem":{"code":"engine-absent","detail":"none"}}',
      { kind: 'problem', code: 'engine-absent', detail: 'none', repair: '' },
    ],
    ['{"level":40,"msg":"wall failed","wallId":"x"}', { kind: 'log', level: 40, words: 'wall failed' }],
    ['{"level":"error","msg":"no"}', { kind: 'log', level: 50, words: 'no' }],
    ['Error: at line 3', { kind: 'log', level: 30, words: 'Error: at line 3' }],
  ])('%s is read by its form', (line, expected) => {
    expect(parseMeshLine(line)).toEqual(expected)
  })
})

describe('lines of one process', () => {
  async function* written(...lines: readonly string[]): AsyncGenerator<string, void, undefined> {
    yield* lines
  }
  const own = async (...lines: readonly string[]) => {
    const kept: string[] = []
    for await (const line of linesOf(written(...lines), (pid) => pid === 7)) kept.push(line)
    return kept
  }
  const mine = '{"progress":"mine","pid":7}'
  const foreign = '{"problem":{"code":"x","detail":"y"},"pid":8}'

  it('the lines of one process leave out those of another start, and what may be its words from then on', async () => {
    expect(await own('Warning: mine', mine, foreign, 'Error: whose?', mine)).toEqual([
      'Warning: mine',
      mine,
      mine,
    ])
    expect(await own(mine, 'Error: a crash', '{"msg":"none"}')).toEqual([
      mine,
      'Error: a crash',
      '{"msg":"none"}',
    ])
  })
})
