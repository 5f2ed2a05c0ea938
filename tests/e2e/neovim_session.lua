-- A real editor and the server: asks for an inline completion as a plug-in would, shows the reply as
-- ghost text, accepts it, and writes what it saw to the file named in FORETOKEN_RESULT.
-- Run: nvim --headless --clean -u NONE -c 'luafile neovim_session.lua'   (Neovim 0.7.2 or newer)
-- FORETOKEN_COMMAND: the server's command line, blanks between its words.
local result = {}
local function finish()
  local file = io.open(os.getenv('FORETOKEN_RESULT'), 'w')
  file:write(vim.fn.json_encode(result))
  file:close()
  vim.cmd('qall!')
end

local ok, fault = pcall(function()
  vim.cmd('enew')
  vim.o.virtualedit = 'onemore'  -- the cursor stands behind the last character, as in insert mode
  vim.bo.filetype = 'c'
  vim.api.nvim_buf_set_name(0, vim.fn.tempname() .. '.c')
  local buffer = vim.api.nvim_get_current_buf()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }
  local id = vim.lsp.start_client({
    name = 'foretoken',
    cmd = vim.split(os.getenv('FORETOKEN_COMMAND'), ' '),
    root_dir = vim.fn.getcwd(),
    capabilities = capabilities,
    on_exit = function(code) result.exit_code = code end,
  })
  local client = vim.lsp.get_client_by_id(id)
  vim.wait(10000, function() return client.initialized end, 5)
  result.server = client.server_capabilities.inlineCompletionProvider ~= nil
  vim.lsp.buf_attach_client(buffer, id)

  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { '// é😀', 'int ' })
  vim.api.nvim_win_set_cursor(0, { 2, 4 })
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = 2 }
  local item
  client.request('textDocument/inlineCompletion', params, function(err, reply)
    result.error = err and err.message
    item = reply and reply.items and reply.items[1]
  end, buffer)
  vim.wait(10000, function() return item ~= nil or result.error ~= nil end, 5)
  if not item then error('no item came') end
  result.item = item

  -- Ghost text: what the item adds behind the cursor. 0.7.2 has no inline virtual text.
  local line = vim.api.nvim_get_current_line()
  local from = vim.lsp.util._get_line_byte_from_position(buffer, item.range.start, client.offset_encoding)
  local typed = line:sub(from + 1, 4)
  assert(item.insertText:sub(1, #typed) == typed, 'the item does not begin with what is typed')
  local lines = vim.split(item.insertText:sub(#typed + 1), '\n')
  local space = vim.api.nvim_create_namespace('ghost')
  local below = {}
  for i = 2, #lines do below[#below + 1] = { { lines[i], 'Comment' } } end
  vim.api.nvim_buf_set_extmark(buffer, space, 1, 4, {
    virt_text = { { lines[1], 'Comment' } }, virt_text_pos = 'overlay', virt_lines = below })
  local mark = vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })[1]
  result.ghost = mark[4].virt_text[1][1]
  for _, virtual in ipairs(mark[4].virt_lines or {}) do
    result.ghost = result.ghost .. '\n' .. virtual[1][1]
  end

  vim.lsp.util.apply_text_edits({ { range = item.range, newText = item.insertText } }, buffer, client.offset_encoding)
  result.text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
  local accepted = false
  client.request('workspace/executeCommand', item.command, function(err)
    result.accept_error = err and err.message
    accepted = true
  end, buffer)
  vim.wait(10000, function() return accepted end, 5)

  local hash
  client.request('foretoken/documentHash', { uri = vim.uri_from_bufnr(buffer) }, function(_, reply) hash = reply end, buffer)
  vim.wait(10000, function() return hash ~= nil end, 5)
  result.server_bytes = hash and hash.bytes
  client.stop()
  vim.wait(10000, function() return result.exit_code ~= nil end, 5)
end)
if not ok then result.fault = tostring(fault) end
finish()
