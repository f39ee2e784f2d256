/** Parses the body of a request to Discord's REST API: JSON, or a form with JSON and a file. */
export async function discordBody(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  if (!contentType.startsWith('multipart/')) {
    const value: unknown = JSON.parse(bytes.toString())
    return Array.isArray(value) ? { list: value } : (value as Record<string, unknown>)
  }
  const form = await new Response(new Uint8Array(bytes), {
    headers: { 'content-type': contentType },
  }).formData()
  const [file, json] = [form.get('files[0]'), form.get('payload_json')]
  return {
    ...(JSON.parse(typeof json === 'string' ? json : '{}') as Record<string, unknown>),
    file:
      file instanceof File
        ? {
            name: file.name,
            type: file.type,
            text: await file.text(),
            bytes: new Uint8Array(await file.arrayBuffer()),
          }
        : null,
  }
}
