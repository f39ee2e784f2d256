/** Downloads bytes in the browser, with a media type that no browser renders as a page. */
export function saveFile(name: string, bytes: Uint8Array | string): void {
  const part = typeof bytes === 'string' ? bytes : new Uint8Array(bytes)
  const url = URL.createObjectURL(new Blob([part], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
