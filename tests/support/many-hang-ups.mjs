// Runs inside an agent: asks a model for a stream and hangs up on it while it thinks, again and again.
const [model, count] = [process.argv[2] ?? '', Number(process.argv[3])]
const address = `${process.env['OPENAI_BASE_URL']}/chat/completions`
const headers = {
  authorization: `Bearer ${process.env['OPENAI_API_KEY']}`,
  'content-type': 'application/json',
}
const messages = [{ role: 'user', content: 'think' }]
const body = JSON.stringify({ model, messages, max_tokens: 1500, stream: true })
const seen = { left: 0, refused: 0 }

for (let call = 0; call < count; call++) {
  try {
    const reply = await fetch(address, { method: 'POST', headers, body, signal: AbortSignal.timeout(100) })
    if (reply.status === 402) seen.refused++
    await reply.text()
  } catch {
    seen.left++
  }
}
process.stdout.write(`SEEN ${JSON.stringify([seen])}\n`)
