import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { pieceFiles, readFolder } from './read-folder.ts'

test.each(['a link', 'another folder'])(
  'a folder that becomes %s while it is read is not taken for the same',
  async (what) => {
    const home = await mkdtemp(join(tmpdir(), 'flotilla-read-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    const inbox = join(home, 'inbox')
    await mkdir(inbox)
    await mkdir(join(home, 'outside'))
    for (let file = 0; file < pieceFiles + 10; file++) await writeFile(join(inbox, `f${file}`), 'x')
    let handed = 0
    const end = readFolder(inbox, '*', ({ names }) => {
      handed += names.length
      renameSync(inbox, `${inbox}-away`)
      if (what === 'a link') symlinkSync(join(home, 'outside'), inbox)
      else mkdirSync(inbox)
      return true
    })
    expect(end).toEqual({ kind: 'unreadable', reason: expect.stringContaining('replaced') })
    expect(handed).toBe(pieceFiles)
    await rm(inbox, { recursive: true })
    await rename(`${inbox}-away`, inbox)
    expect(readFolder(inbox, '*', () => true)).toEqual({ kind: 'whole', leftOut: false })
  },
)
