import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { Problem } from '@flotilla/protocol/problem'
import { createInTurn } from '@flotilla/protocol/turns'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { artifactFolderName, createArtifactFiles } from './artifact-files.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import { createArtifactTable } from './artifact-table.ts'
import { createArtifacts } from './artifacts.ts'
import { saveArtifact } from './save-artifact.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
const base64 = (text: string) => Buffer.from(text).toString('base64')
const saved = (name: string, text: string) => ({ name, contentBase64: base64(text), description: '' })

async function aStore() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const time = { ms: 1000 }
  const clock = { now: () => time.ms, sleep: async () => {} }
  const home = await mkdtemp(join(tmpdir(), 'flotilla-artifacts-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const folder = join(home, 'artifacts')
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  bus.subscribe((event) => void events.push(event.body))
  let count = 0
  const parts: Required<Parameters<typeof createArtifacts>[0]> = {
    database,
    clock,
    randomToken: () => `t${++count}`,
    guard: (caller, action) => {
      const own = caller.kind === 'agent' && caller.token === 'door' && action.do === 'act-for-self'
      if (
        !(own && action.agentId === caller.agentId) &&
        !(caller.kind === 'human' && action.do === 'view-fleet')
      ) {
        throw new Problem('denied')
      }
    },
    journal: { append: () => {} },
    events: bus,
    artifactsFolder: folder,
    log: silentLog,
    projectOf: () => null,
    sharedByTask: () => false,
    saved: () => {},
  }
  return { artifacts: createArtifacts(parts), parts, database, folder, events, time }
}

describe('saving', () => {
  test('artifact bytes are stored below the home, readable only by the mesh', async () => {
    const { artifacts, folder, events } = await aStore()
    const row = await artifacts.save(agent('a'), { ...saved('report.md', 'hi'), description: 'x\u200By' })
    expect(row).toEqual({
      agentId: 'a',
      name: 'report.md',
      version: 1,
      description: 'xy',
      sizeBytes: 2,
      sha256: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
      savedAt: 1000,
      project: null,
    })
    expect((await artifacts.read(owner, 'a', 'report.md')).content.toString()).toBe('hi')
    expect((await stat(join(folder, artifactFolderName('a'), 'report.md'))).mode & 0o777).toBe(0o600)
    expect(events).toEqual([{ type: 'artifact.saved', agent_id: 'a', name: 'report.md', size_bytes: 2 }])
  })

  test('saving an artifact under an existing name replaces it', async () => {
    const { artifacts, folder } = await aStore()
    await artifacts.save(agent('a'), saved('r', 'one'))
    expect((await artifacts.save(agent('a'), saved('r', 'two!'))).version).toBe(2)
    const { row, content } = await artifacts.read(owner, 'a', 'r')
    expect([row.version, row.sizeBytes, content.toString()]).toEqual([2, 4, 'two!'])
    expect(await readdir(join(folder, artifactFolderName('a')))).toEqual(['r'])
  })

  test('after concurrent saves of one name, row and bytes belong to the same save, even on a slow disk', async () => {
    const { database, folder, parts } = await aStore()
    const table = createArtifactTable(database)
    const real = createArtifactFiles(folder, parts.randomToken)
    let placed = 0
    const files: ArtifactFiles = {
      ...real,
      stage: async (agentId, content) => {
        const staged = await real.stage(agentId, content)
        return {
          ...staged,
          place: async (name) => {
            await staged.place(name)
            // The first save to be placed finishes last.
            await new Promise((resolve) => setTimeout(resolve, 40 - 10 * placed++))
          },
        }
      },
    }
    const save = saveArtifact({ ...parts, table, files, inTurn: createInTurn() })
    await Promise.all(['1', '22', '333', '4444'].map((text) => save(agent('a'), saved('r', text))))
    const row = table.find('a', 'r')
    expect(row?.version).toBe(4)
    expect((await real.read('a', 'r'))?.byteLength).toBe(row?.sizeBytes)
  })

  test('agents with similar ids have separate artifacts', async () => {
    const { artifacts } = await aStore()
    for (const id of ['a-b', 'a_b', 'A-b']) await artifacts.save(agent(id), saved('r', id))
    for (const id of ['a-b', 'a_b', 'A-b']) {
      expect((await artifacts.read(owner, id, 'r')).content.toString()).toBe(id)
    }
  })

  test.each([
    '',
    '.',
    '..',
    '.hidden',
    '../x',
    'a/b',
    '/etc/passwd',
    'a\\..\\b',
    'a\u0000b',
    'a\nb',
    'x.',
    '..%2fx',
    'x'.repeat(201),
    '漢'.repeat(100),
    '.staged-t1',
  ])('the name %j is refused and leaves nothing', async (name) => {
    const { artifacts, folder } = await aStore()
    await expect(artifacts.save(agent('a'), saved(name, 'x'))).rejects.toMatchObject({ code: 'bad-request' })
    expect(await readdir(dirname(folder))).toEqual([])
  })

  test('an artifact of 2 MiB is accepted and one byte more is rejected', async () => {
    const { artifacts } = await aStore()
    const full = { ...saved('r', ''), contentBase64: Buffer.alloc(2 * 1024 * 1024).toString('base64') }
    expect((await artifacts.save(agent('a'), full)).sizeBytes).toBe(2 * 1024 * 1024)
    const over = { ...full, contentBase64: Buffer.alloc(2 * 1024 * 1024 + 1).toString('base64') }
    await expect(artifacts.save(agent('a'), over)).rejects.toMatchObject({ code: 'body-too-large' })
  })

  test.each(['a', 'YQ', 'YQ=', '!!!!', 'YWI= YWI=', 'YQ==\n', 'YR=='])(
    '%j is no base64',
    async (contentBase64) => {
      const { artifacts } = await aStore()
      const save = artifacts.save(agent('a'), { name: 'r', contentBase64, description: '' })
      await expect(save).rejects.toMatchObject({ code: 'bad-request' })
    },
  )

  test('only the agent process can save artifacts', async () => {
    const { artifacts } = await aStore()
    const program: Caller = { kind: 'agent', agentId: 'a', token: 'program', run: null }
    for (const caller of [program, owner]) {
      await expect(artifacts.save(caller, saved('r', 'x'))).rejects.toMatchObject({ code: 'denied' })
    }
  })

  test('an agent can keep 1000 artifacts and can still replace them when the next name is rejected', async () => {
    const { artifacts, database, folder } = await aStore()
    const insert = database.prepare("INSERT INTO artifacts VALUES ('a', ?, 1, '', 1, '', 0, NULL)")
    for (let n = 0; n < 1000; n++) insert.run(`n${n}`)
    await expect(artifacts.save(agent('a'), saved('new', 'x'))).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect((await artifacts.save(agent('a'), saved('n7', 'x'))).version).toBe(2)
    expect((await artifacts.save(agent('b'), saved('new', 'x'))).version).toBe(1)
    expect(await readdir(join(folder, artifactFolderName('a')))).toEqual(['n7'])
  })

  test('an agent can keep 500 MiB of artifacts, not counting the one that is replaced', async () => {
    const { artifacts, database } = await aStore()
    database
      .prepare("INSERT INTO artifacts VALUES ('a', 'big', 1, '', ?, '', 0, NULL)")
      .run(500 * 1024 * 1024 - 1)
    await artifacts.save(agent('a'), saved('r', 'x'))
    await expect(artifacts.save(agent('a'), saved('r', 'xy'))).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect((await artifacts.read(owner, 'a', 'r')).content.toString()).toBe('x')
    expect((await artifacts.save(agent('a'), saved('big', 'now small'))).version).toBe(2)
  })
})

describe('reading', () => {
  test('artifacts are listed newest first', async () => {
    const { artifacts, time } = await aStore()
    for (const name of ['one', 'two', 'three']) {
      await artifacts.save(agent('a'), saved(name, name))
      time.ms++
    }
    expect(artifacts.list(owner).map((row) => row.name)).toEqual(['three', 'two', 'one'])
    expect(() => artifacts.list(agent('a'))).toThrow(expect.objectContaining({ code: 'denied' }))
  })

  test.each([
    ['a', '../../outside'],
    ['a', 'r/../../../outside'],
    ['..', 'outside'],
    ['a/..', 'r'],
    ['a', 'R'],
    ['b', 'r'],
    ['a', 'planted'],
  ])('what agent %j never saved as %j is not found', async (agentId, name) => {
    const { artifacts, folder } = await aStore()
    await artifacts.save(agent('a'), saved('r', 'x'))
    await writeFile(join(dirname(folder), 'outside'), 'secret')
    await writeFile(join(folder, artifactFolderName('a'), 'planted'), 'x')
    await expect(artifacts.read(owner, agentId, name)).rejects.toMatchObject({ code: 'not-found' })
  })

  test('a symbolic link in place of an artifact is not followed', async () => {
    const { artifacts, database, folder } = await aStore()
    await mkdir(join(folder, artifactFolderName('a')), { recursive: true })
    await symlink('/etc/hostname', join(folder, artifactFolderName('a'), 'r'))
    database.prepare("INSERT INTO artifacts VALUES ('a', 'r', 1, '', 1, '', 0, NULL)").run()
    await expect(artifacts.read(owner, 'a', 'r')).rejects.toThrow('ELOOP')
  })

  test('deleting an agent deletes rows and bytes of its artifacts', async () => {
    const { artifacts, folder } = await aStore()
    await artifacts.save(agent('a'), saved('r', 'x'))
    await artifacts.save(agent('b'), saved('r', 'x'))
    await artifacts.forget('a')
    await artifacts.forget('a')
    expect(artifacts.list(owner).map((row) => row.agentId)).toEqual(['b'])
    expect(await readdir(folder)).toEqual([artifactFolderName('b')])
  })

  test('temporary files that a crash left behind are deleted at the next start', async () => {
    const { artifacts, folder } = await aStore()
    await artifacts.save(agent('a'), saved('r', 'x'))
    await writeFile(join(folder, artifactFolderName('a'), '.staged-old'), 'half')
    await artifacts.sweep()
    expect(await readdir(join(folder, artifactFolderName('a')))).toEqual(['r'])
  })
})

describe('an agent finds its own', () => {
  test('an agent reads its own artifacts and not those of others', async () => {
    const { artifacts, time } = await aStore()
    await artifacts.save(agent('a'), saved('old.md', 'old'))
    time.ms = 2000
    await artifacts.save(agent('a'), saved('new.md', 'new'))
    await artifacts.save(agent('b'), saved('other.md', 'other'))
    const { rows, more } = artifacts.listOf(agent('a'), 'a')
    expect([rows.map(({ name }) => name), more]).toEqual([['new.md', 'old.md'], 0])
    expect((await artifacts.read(agent('a'), 'a', 'old.md')).content.toString()).toBe('old')
    expect(() => artifacts.listOf(agent('a'), 'b')).toThrow(expect.objectContaining({ code: 'denied' }))
    await expect(artifacts.read(agent('a'), 'b', 'other.md')).rejects.toMatchObject({ code: 'denied' })
    expect(artifacts.listOf(owner, 'b').rows).toHaveLength(1)
  })
})

describe('sharing', () => {
  const walls = async () => {
    const { parts } = await aStore()
    const projects: Record<string, string> = { ann: 'red', member: 'red', bob: 'blue', viewer: 'blue' }
    const tasks = new Set<string>()
    return {
      tasks,
      artifacts: createArtifacts({
        ...parts,
        guard: (caller, action) => {
          const views = caller.kind === 'agent' && caller.agentId === 'viewer' && action.do === 'view-fleet'
          if (!views) parts.guard(caller, action)
        },
        projectOf: (agentId) => projects[agentId] ?? null,
        sharedByTask: (agentId, { ownerId, name }) => tasks.has(`${agentId} ${ownerId}/${name}`),
      }),
    }
  }

  test('members of a project can read the files shared in it, and no other files', async () => {
    const { artifacts } = await walls()
    await artifacts.save(agent('ann'), { ...saved('plan', 'ours'), shared: true })
    await artifacts.save(agent('ann'), saved('diary', 'mine'))
    expect((await artifacts.read(agent('member'), 'ann', 'plan')).content.toString()).toBe('ours')
    await expect(artifacts.read(agent('member'), 'ann', 'diary')).rejects.toMatchObject({ code: 'denied' })
    await expect(artifacts.read(agent('bob'), 'ann', 'plan')).rejects.toMatchObject({ code: 'denied' })
    expect(artifacts.listShared(agent('member')).rows.map(({ name }) => name)).toEqual(['plan'])
    expect(artifacts.listShared(agent('bob')).rows).toEqual([])
  })

  test('an agent of another project cannot see shared files, even if it may view the fleet', async () => {
    const { artifacts } = await walls()
    await artifacts.save(agent('ann'), saved('diary', 'mine'))
    await expect(artifacts.read(agent('viewer'), 'ann', 'diary')).rejects.toMatchObject({ code: 'not-found' })
    expect(() => artifacts.listOf(agent('viewer'), 'ann')).toThrow(
      expect.objectContaining({ code: 'not-found' }),
    )
    expect(artifacts.list(agent('viewer'))).toEqual([])
  })

  test('giver and assignee of a task can read the artifacts attached to it', async () => {
    const { artifacts, tasks } = await walls()
    await artifacts.save(agent('ann'), saved('report', 'done'))
    tasks.add('bob ann/report')
    expect((await artifacts.read(agent('bob'), 'ann', 'report')).content.toString()).toBe('done')
    await expect(artifacts.read(agent('viewer'), 'ann', 'report')).rejects.toMatchObject({
      code: 'not-found',
    })
  })

  test('sharing an artifact requires membership in a project', async () => {
    const { artifacts } = await walls()
    const shared = artifacts.save(agent('nobody'), { ...saved('plan', 'x'), shared: true })
    await expect(shared).rejects.toMatchObject({ code: 'unprocessable' })
  })
})
