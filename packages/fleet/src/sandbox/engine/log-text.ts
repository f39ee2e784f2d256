/** Returns the text of an engine's multiplexed log, in which 8 bytes (stream, length) precede each piece. Pure. */
export function logText(raw: Buffer): string {
  const pieces: Buffer[] = []
  let at = 0
  while (at + 8 <= raw.length && raw.readUInt8(at) <= 2 && raw.readUIntBE(at + 1, 3) === 0) {
    const end = at + 8 + raw.readUInt32BE(at + 4)
    pieces.push(raw.subarray(at + 8, end))
    at = end
  }
  if (at < raw.length) pieces.push(raw.subarray(at))
  return Buffer.concat(pieces).toString('utf8')
}
