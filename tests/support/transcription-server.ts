import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { wholeBody } from './whole-body.ts'

export interface HeardNote {
  readonly model: string
  readonly format: string
  readonly fileName: string
  readonly mediaType: string
  readonly bytes: Buffer
  readonly authorization: string
}

type Answer = (note: HeardNote, response: ServerResponse) => void | Promise<void>

/**
 * A transcription server on loopback with OpenAI's documented `POST /v1/audio/transcriptions`: a form with `file`,
 * `model` and `response_format`, answered by `text` and `usage`. OpenAI publishes no server to run in its place, so
 * `transcribe.test.ts` checks this one with OpenAI's official client. It returns `Hello there` for two seconds of
 * sound unless a test sets another answer.
 */
export async function aTranscriptionServer() {
  const notes: HeardNote[] = []
  let answer: Answer = (_note, response) => answerTranscript(response, 'Hello there')
  const server = createServer((request, response) => {
    void (async () => {
      const body = await wholeBody(request)
      if (body === null) return
      const contentType = request.headers['content-type'] ?? ''
      if (request.method !== 'POST' || request.url !== '/v1/audio/transcriptions') {
        refuseTranscript(response, 404, 'there is nothing here')
        return
      }
      const note = await noteIn(body, contentType, request.headers.authorization ?? '')
      if (note === null) {
        refuseTranscript(response, 400, 'file and model are wanted, as a form')
        return
      }
      notes.push(note)
      await answer(note, response)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    notes,
    /** Sets the answer to all later voice notes. */
    answerWith: (next: Answer) => void (answer = next),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

async function noteIn(body: Buffer, contentType: string, authorization: string): Promise<HeardNote | null> {
  const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => null)
  const file = form?.get('file')
  const model = form?.get('model')
  const format = form?.get('response_format') ?? 'json'
  if (typeof format !== 'string') return null
  if (!(file instanceof File) || typeof model !== 'string') return null
  return {
    model,
    format,
    fileName: file.name,
    mediaType: file.type,
    bytes: Buffer.from(await file.arrayBuffer()),
    authorization,
  }
}

export function answerTranscript(
  response: ServerResponse,
  text: string,
  more: object = { usage: { type: 'duration', seconds: 2 } },
): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ text, ...more }))
}

export function refuseTranscript(response: ServerResponse, status: number, message: string): void {
  const error = { message, type: 'invalid_request_error', param: null, code: null }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
}

/** Returns this many bytes that begin as a voice note of a chat platform does. */
export function oggNote(words: string, bytes = 6000): Buffer {
  return Buffer.concat([Buffer.from(`OggS${words}`), Buffer.alloc(bytes)]).subarray(0, bytes)
}
