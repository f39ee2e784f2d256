import { Agent, createServer, request } from 'node:http'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { modelRequest } from './model-call.ts'

/**
 * The minimum that can answer a chat durably: the question is stored as a row, the model is called once, and its
 * answer is added to the row. It has no queue, agents, money or events. It runs as a process and sends its port to
 * the parent.
 */
const [path = '', upstreamPort = '0'] = process.argv.slice(2)
const database = openDatabase(path)
database.exec('CREATE TABLE runs (id INTEGER PRIMARY KEY, input TEXT NOT NULL, outcome TEXT) STRICT')
const insert = database.prepare('INSERT INTO runs (input) VALUES (?)')
const settle = database.prepare('UPDATE runs SET outcome = ? WHERE id = ?')
const agent = new Agent({ keepAlive: true })
const question = modelRequest({ stream: true, model: 'bare' })

function askModel(): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        agent,
        host: '127.0.0.1',
        port: Number(upstreamPort),
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(question) },
      },
      (reply) => void text(reply).then(resolve, reject),
    )
    asked.once('error', reject)
    asked.end(question)
  })
}

const server = createServer((asked, reply) => {
  void (async () => {
    const input = await text(asked)
    const { lastInsertRowid: id } = database.transaction(() => insert.run(input))
    const words = wordsOf(await askModel())
    database.transaction(() => settle.run(words, id))
    reply.end(words)
  })().catch((error: unknown) => reply.writeHead(500).end(String(error)))
})

/** Joins the text pieces of a streamed answer. */
function wordsOf(stream: string): string {
  return [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, piece = '']) => piece).join('')
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : null })
})
process.once('disconnect', () => process.exit(0))
