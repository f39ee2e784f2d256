import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tarFile } from './tar-file.ts'

describe('tar file', () => {
  it('a tar file is unpacked by the system’s tar, long paths and empty files too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-tar-'))
    try {
      const long = `${'folder/'.repeat(16)}${'n'.repeat(90)}.txt`
      const bytes = tarFile([
        { path: 'empty', bytes: new Uint8Array() },
        { path: 'exact/512', bytes: new Uint8Array(512).fill(65) },
        { path: long, bytes: new TextEncoder().encode('ünïcödé\n') },
      ])
      expect(bytes.length % 512).toBe(0)
      execFileSync('tar', ['-xf', '-', '-C', folder], { input: bytes })
      expect(readFileSync(join(folder, 'empty'))).toHaveLength(0)
      expect(readFileSync(join(folder, 'exact/512'), 'utf8')).toBe('A'.repeat(512))
      expect(readFileSync(join(folder, long), 'utf8')).toBe('ünïcödé\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('a tar file refuses a path that a header cannot hold', () => {
    expect(() => tarFile([{ path: 'n'.repeat(101), bytes: new Uint8Array() }])).toThrow('does not fit')
  })
})
