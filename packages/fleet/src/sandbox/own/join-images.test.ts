import { execFileSync } from 'node:child_process'
import { chmod, link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readTar } from '../read-tar.ts'
import { joinImages } from './join-images.ts'

/** Makes an archive of files; `prepare` changes the folder before. */
async function archive(
  files: Readonly<Record<string, string>>,
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-join-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await prepare(folder)
  return execFileSync(
    'tar',
    ['--create', '--format=pax', '--sort=name', '--mtime=@1000', '--directory', folder, '.'],
    { maxBuffer: 16 * 1024 * 1024 },
  )
}

/** Returns extended headers, one after another, whose content is `line` each. */
function extendedHeaders(line: string, count = 1): Buffer {
  const content = Buffer.alloc(Math.ceil(line.length / 512) * 512)
  content.write(line, 'latin1')
  const header = Buffer.alloc(512)
  header.write('PaxHeaders/x', 0)
  header.write('0000644\0', 100)
  header.write(`${line.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('x', 156)
  header.write('ustar\u000000', 257)
  return Buffer.concat(Array.from({ length: count }, () => Buffer.concat([header, content])))
}

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777)
}

async function joined(own: Buffer, agent: Buffer, maxBytes = 1024 ** 3) {
  const found = new Map<string, { readonly type: string; readonly mode: number; readonly text: string }>()
  const made = joinImages({
    own: once(own),
    agent: once(agent),
    maxBytes,
    refuse: (reason) => new Error(reason),
  })
  for await (const entry of readTar(made)) {
    const text = entry.type === '0' ? (await entry.content(1024 * 1024)).toString() : entry.target
    found.set(entry.path, { type: entry.type, mode: entry.mode, text })
  }
  return found
}

const agentFiles = {
  'opt/flotilla/agent.cjs': 'agent',
  'usr/local/bin/node': 'node',
  'usr/bin/git': 'of the agent image',
}

test('files of the owner are kept, and those of the agent replace what the owner has in their places', async () => {
  const long = `opt/${'x'.repeat(150)}/deep`
  const own = await archive({
    'opt/flotilla/agent.cjs': 'forged',
    'usr/local/bin/node': 'forged',
    'usr/bin/git': 'of the owner',
    [long]: 'y'.repeat(5000),
  })
  const found = await joined(own, await archive(agentFiles))
  expect(found.get('opt/flotilla/agent.cjs')?.text).toBe('agent')
  expect(found.get('usr/local/bin/node')?.text).toBe('node')
  expect(found.get('usr/bin/git')?.text).toBe('of the owner')
  expect(found.get(long)?.text).toBe('y'.repeat(5000))
})

test('no file keeps the bits by which it runs as another user', async () => {
  const own = await archive({ 'usr/bin/su': 'su' }, async (folder) => {
    await chmod(join(folder, 'usr/bin/su'), 0o6755)
    await link(join(folder, 'usr/bin/su'), join(folder, 'usr/bin/twin'))
  })
  const found = await joined(own, await archive(agentFiles))
  expect(found.get('usr/bin/su')?.mode).toBe(0o755)
  expect(found.get('usr/bin/twin')?.mode).toBe(0o755)
})

test('no file keeps its capabilities', async () => {
  const plain = await archive({ 'usr/bin/ping': 'ping' })
  const record = 'SCHILY.xattr.security.capability=abcd\n'
  const line = `${record.length + 3} ${record}`
  const extended = extendedHeaders(line)
  const made: Uint8Array[] = []
  const parts = joinImages({
    own: once(Buffer.concat([extended, plain])),
    agent: once(await archive(agentFiles)),
    maxBytes: 1024 ** 3,
    refuse: (reason) => new Error(reason),
  })
  for await (const part of parts) made.push(part)
  expect(Buffer.concat(made).includes('xattr.security')).toBe(false)
})

test('the user of the agent is added to the accounts, unless the image names one', async () => {
  const own = await archive({ 'etc/passwd': 'root:x:0:0::/root:/bin/sh', 'etc/group': 'team:x:1000:\n' })
  const found = await joined(own, await archive(agentFiles))
  expect(found.get('etc/passwd')?.text).toBe('root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/data:/bin/sh\n')
  expect(found.get('etc/group')?.text).toBe('team:x:1000:\n')
})

test('a hard link to a file that is left out is left out', async () => {
  const own = await archive({ 'tmp/one': 'x' }, async (folder) => {
    await mkdir(join(folder, 'usr'), { recursive: true })
    await link(join(folder, 'tmp/one'), join(folder, 'usr/two'))
  })
  expect([...(await joined(own, await archive(agentFiles))).keys()]).not.toContain('usr/two')
})

test('an image with a link in place of a needed folder, or with too many bytes, is refused', async () => {
  const linked = await archive({ 'var/x': 'x' }, (folder) => symlink('/var', join(folder, 'opt')))
  await expect(joined(linked, await archive(agentFiles))).rejects.toThrow('in place of the folder /opt')
  const large = await archive({ 'usr/large': 'x'.repeat(2000) })
  await expect(joined(large, await archive(agentFiles), 1000)).rejects.toThrow('GB of files')
})

test.each([
  ['/etc/passwd', { 'etc/passwd': 'x'.repeat(1024 * 1024 + 1) }],
  ['/etc/group', { 'etc/group': 'x'.repeat(1024 * 1024 + 1) }],
])('an image whose %s is too large is refused by the name of the file', async (path, files) => {
  const own = await archive(files)
  await expect(joined(own, await archive(agentFiles))).rejects.toThrow(
    `cannot be read: the file ${path} is larger than 1048576 bytes`,
  )
})

test.each([
  ['extended headers that together are too large', (plain: Buffer) => [extendedHeaders('', 3000), plain]],
  [
    'a path that is too long',
    (plain: Buffer) => [extendedHeaders(`5011 path=${'x'.repeat(5000)}\n`), plain],
    'a path of more than 4096 characters, /xxx',
  ],
  ['a damaged extended header', (plain: Buffer) => [extendedHeaders('99 path=x\n'), plain]],
  ['half of a file', (plain: Buffer) => [plain.subarray(0, 1100)]],
])('an image with %s is refused', async (_, change, reason = 'cannot be read: ') => {
  const plain = await archive({ 'usr/one': 'x'.repeat(2000) })
  const own = Buffer.concat(change(plain))
  await expect(joined(own, await archive(agentFiles))).rejects.toThrow(reason)
})

test('extended headers count as content of the image', async () => {
  const plain = await archive({ 'usr/one': 'one' })
  const own = Buffer.concat([extendedHeaders(`5009 note=${'x'.repeat(4998)}\n`), plain])
  await expect(joined(own, await archive(agentFiles), 5000)).rejects.toThrow('GB of files')
})
