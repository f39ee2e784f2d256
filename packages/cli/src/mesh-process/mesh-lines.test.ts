import { describe, expect, it } from 'vitest'
import { parseMeshLine } from './mesh-lines.ts'

describe('a line of the mesh', () => {
  it.each([
    ['{"progress":"Building the image"}', { kind: 'progress', words: 'Building the image' }],
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
