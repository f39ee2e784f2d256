import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { describe, expect, it } from 'vitest'
import { followLines } from './follow-file.ts'

describe('followed lines', () => {
  it('begin at the position, join what was written in pieces, and end with the rest after the abort', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-follow-'))
    const path = join(folder, 'log')
    writeFileSync(path, 'old\nfirst\nsec')
    const stop = new AbortController()
    const appends = ['ond\n', '\nü', ' last']
    const clock: Clock = {
      now: () => 0,
      sleep: () => {
        const next = appends.shift()
        if (next === undefined) stop.abort()
        else appendFileSync(path, next)
        return Promise.resolve()
      },
    }
    const lines: string[] = []
    for await (const line of followLines(await open(path), { from: 4, clock, signal: stop.signal }))
      lines.push(line)
    expect(lines).toEqual(['first', 'second', 'ü last'])
    rmSync(folder, { recursive: true, force: true })
  })

  it('continue at the start of a file that was emptied', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-follow-'))
    const path = join(folder, 'log')
    writeFileSync(path, 'a first and long line\n')
    const stop = new AbortController()
    const steps = [() => truncateSync(path), () => appendFileSync(path, 'next\n'), () => stop.abort()]
    const clock: Clock = { now: () => 0, sleep: async () => steps.shift()?.() }
    const lines: string[] = []
    for await (const line of followLines(await open(path), { from: 0, clock, signal: stop.signal }))
      lines.push(line)
    expect(lines).toEqual(['a first and long line', 'next'])
    rmSync(folder, { recursive: true, force: true })
  })
})
