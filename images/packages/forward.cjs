// The first process of a container in which packages are installed. The container has no network: this listener passes
// connections from the package managers to the mesh, which reads the registry whose loopback address was asked for.
const { createServer, connect } = require('node:net')

createServer((program) => {
  const proxy = connect('/registries/proxy.sock')
  const end = () => {
    program.destroy()
    proxy.destroy()
  }
  program.on('error', end).on('close', end)
  proxy.on('error', end).on('close', end)
  program.pipe(proxy).pipe(program)
}).listen(3128, '0.0.0.0', () => process.stdout.write('ready\n'))
