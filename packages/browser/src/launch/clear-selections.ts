import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

const withinMs = 2000
/** The atom of the primary selection, which is the same in every X server. */
const primaryAtom = 1
const clipboardName = 'CLIPBOARD'
const packetBytes = 32
const opcodes = { internAtom: 16, setSelectionOwner: 22, getInputFocus: 43 } as const

/**
 * Empties the clipboard and the primary selection of a display by taking both from the program that owns them. A
 * paste with the keyboard reads the clipboard, one with the middle button the primary selection. Resolves when the X
 * server has done it; rejects with an Error if it does not answer in time. The few requests are encoded here (X11
 * protocol, 8 and appendix B), because a program for them would be one more in the image.
 */
export async function clearSelections(socketPath: string): Promise<void> {
  const socket = connect(socketPath)
  socket.setTimeout(withinMs, () => socket.destroy(new Error('the display did not answer in time')))
  try {
    await once(socket, 'connect')
    // Little-endian, version 11.0, without authorization.
    socket.write(Buffer.from([0x6c, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    const head = await read(socket, 8)
    if (head[0] !== 1) throw new Error('the display refused the connection')
    await read(socket, head.readUInt16LE(6) * 4)
    socket.write(internAtom(clipboardName))
    const clipboardAtom = (await reply(socket)).readUInt32LE(8)
    for (const atom of [primaryAtom, clipboardAtom]) socket.write(setNoOwner(atom))
    // The server handles requests in order, so this reply proves that the previous requests were carried out.
    socket.write(Buffer.from([opcodes.getInputFocus, 0, 1, 0]))
    await reply(socket)
  } finally {
    socket.destroy()
  }
}

function internAtom(name: string): Buffer {
  const wordCount = 2 + Math.ceil(name.length / 4)
  const request = Buffer.alloc(wordCount * 4)
  request.writeUInt8(opcodes.internAtom, 0)
  request.writeUInt16LE(wordCount, 2)
  request.writeUInt16LE(name.length, 4)
  request.write(name, 8, 'latin1')
  return request
}

/** Encodes the request that takes a selection from its owner: owner 0 is no window, time 0 is now. */
function setNoOwner(atom: number): Buffer {
  const request = Buffer.alloc(16)
  request.writeUInt8(opcodes.setSelectionOwner, 0)
  request.writeUInt16LE(4, 2)
  request.writeUInt32LE(atom, 8)
  return request
}

/** Reads the next reply; skips events, which the X server sends to every client. */
async function reply(socket: Socket): Promise<Buffer> {
  for (;;) {
    const packet = await read(socket, packetBytes)
    if (packet[0] === 1) return packet
    if (packet[0] === 0) throw new Error(`the display refused a request with error ${packet[1]}`)
  }
}

async function read(socket: Socket, bytes: number): Promise<Buffer> {
  for (;;) {
    const found: unknown = bytes === 0 ? Buffer.alloc(0) : socket.read(bytes)
    if (Buffer.isBuffer(found) && found.length === bytes) return found
    if (socket.readableEnded || socket.destroyed || Buffer.isBuffer(found))
      throw new Error('the display ended the connection')
    await once(socket, 'readable')
  }
}
