import * as fs from 'node:fs'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { homeFault, makeHome } from './home-folder.ts'

const folder = mkdtempSync(join(tmpdir(), 'flotilla-home-folder-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('making the home', () => {
  it('making the home makes what is missing on the way, for the owner alone, and is content with what is there', () => {
    const home = join(folder, 'a', 'b')
    makeHome(fs, home)
    makeHome(fs, home)
    expect(statSync(home).mode & 0o777).toBe(0o700)
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
  })

  it('creating the home reports the obstacle if a file has its path', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => makeHome(fs, join(folder, 'file', 'home'))).toThrow(
      expect.objectContaining({
        code: 'home-unusable',
        detail: expect.stringContaining(join(folder, 'file')),
      }),
    )
  })

  it('making the home gives up where a file system takes no folder, instead of trying for ever', () => {
    expect(() => makeHome(fs, '/proc/flotilla/home')).toThrow(
      expect.objectContaining({
        code: 'home-unusable',
        detail: expect.stringContaining('/proc/flotilla cannot'),
      }),
    )
  })

  it('creating the home accepts a folder that another process created at the same moment', () => {
    let made = false
    const files = {
      mkdirSync: () => {
        made = true
        throw Object.assign(new Error('exists'), { code: 'EEXIST' })
      },
      statSync: () => (made ? { isDirectory: () => true } : undefined),
    }
    expect(() => makeHome(files, '/home')).not.toThrow()
  })

  it('an error of the file system below the home names the path, and any other error stays as it is', () => {
    const refused = Object.assign(new Error('refused'), { code: 'EACCES', path: '/home/data' })
    expect(homeFault('/home', refused)).toMatchObject({
      code: 'home-unusable',
      detail: '/home cannot be the home: /home/data cannot be created or changed (EACCES)',
    })
    const other = Object.assign(new Error('full'), { code: 'ENOSPC', path: '/home/data' })
    expect(homeFault('/home', other)).toBe(other)
  })
})
