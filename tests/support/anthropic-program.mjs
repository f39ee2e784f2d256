// Runs inside an agent like any program of a worker: the official client, configured by its environment alone.
import Anthropic from '@anthropic-ai/sdk'

const model = process.argv[2] ?? ''
const client = new Anthropic({ maxRetries: 0 })
const weather = { name: 'get_weather', input_schema: { type: 'object', properties: {} } }
const seen = {}
const messages = (content) => [{ role: 'user', content }]

const attempts = {
  async plain() {
    const answer = await client.messages.create({ model, max_tokens: 100, messages: messages('hi') })
    return { text: answer.content[0].text, usage: answer.usage }
  },
  async stream() {
    const stream = client.messages.stream({ model, max_tokens: 100, messages: messages('hi') })
    const final = await stream.finalMessage()
    return { text: final.content[0].text, stop: final.stop_reason, usage: final.usage }
  },
  async tool() {
    const asked = messages('weather')
    const called = await client.messages
      .stream({ model, max_tokens: 100, messages: asked, tools: [weather] })
      .finalMessage()
    const use = called.content.find((block) => block.type === 'tool_use')
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'sunny' }
    const answer = await client.messages.create({
      model,
      max_tokens: 100,
      tools: [weather],
      messages: [
        ...asked,
        { role: 'assistant', content: called.content },
        { role: 'user', content: [result] },
      ],
    })
    return { input: use.input, text: answer.content[0].text }
  },
  async models() {
    const names = []
    for await (const entry of client.models.list()) names.push(entry.id)
    return names
  },
  async count() {
    return await client.messages.countTokens({ model, messages: messages('hi') })
  },
  wrongKey: () => failure(new Anthropic({ apiKey: 'wrong', maxRetries: 0 }), model, 'hi'),
  otherModel: () => failure(client, 'anthropic/claude-opus-5', 'hi'),
  limited: () => failure(client, model, 'status-429'),
  overloaded: () => failure(client, model, 'status-529'),
  tooLong: () => failure(client, model, 'too-long'),
}

async function failure(from, wanted, content) {
  try {
    await from.messages.create({ model: wanted, max_tokens: 100, messages: messages(content) })
    return 'no failure'
  } catch (error) {
    return { name: error.constructor.name, status: error.status, type: error.type, code: error.errorCode }
  }
}

for (const name of process.argv.slice(3)) {
  try {
    seen[name] = await attempts[name]()
  } catch (error) {
    seen[name] = { name: error.constructor.name, status: error.status, message: error.message }
  }
}
process.stdout.write(`SEEN ${JSON.stringify(seen)}\n`)
