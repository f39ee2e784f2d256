// Runs inside an agent like any program of a worker, with a program token: sends each call of a file to the model
// gateway and prints the replies.
import { readFile } from 'node:fs/promises'
import process from 'node:process'

const [file, chatModel, messagesModel] = process.argv.slice(2)
const calls = JSON.parse(await readFile(file, 'utf8'))
const { OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = process.env

async function post(url, headers, body) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: reply.status, text: (await reply.text()).slice(0, 600) }
}

const seen = { chat: [], messages: [] }
for (const { what, body } of calls.chat ?? []) {
  const headers = { authorization: `Bearer ${OPENAI_API_KEY}` }
  const sent = { model: chatModel, max_tokens: 20, ...body }
  seen.chat.push({ what, ...(await post(`${OPENAI_BASE_URL}/chat/completions`, headers, sent)) })
}
for (const { what, body } of calls.messages ?? []) {
  const headers = { 'x-api-key': ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01' }
  const sent = { model: messagesModel, max_tokens: 20, ...body }
  seen.messages.push({ what, ...(await post(`${ANTHROPIC_BASE_URL}/v1/messages`, headers, sent)) })
}
process.stdout.write(`SEEN ${JSON.stringify(seen)}\n`)
