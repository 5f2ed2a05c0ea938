#include "tests/support/hub.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <memory>

extern char** environ;

namespace foretoken::test {
namespace {

/// A key and a certificate for "localhost", good for an hour, both as PEM files.
void make_certificate(const std::string& certificate_file, const std::string& key_file) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, "DNS:localhost"},
                                  {NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  using File = std::unique_ptr<FILE, int (*)(FILE*)>;
  PEM_write_X509(File(fopen(certificate_file.c_str(), "w"), fclose).get(), certificate.get());
  PEM_write_PrivateKey(File(fopen(key_file.c_str(), "w"), fclose).get(), key.get(), nullptr,
                       nullptr, 0, nullptr, nullptr);
}

}  // namespace

Hub::Hub(const std::string& content) {
  set_content(content);
  const std::string key = (folder_ / "key.pem").string();
  make_certificate(certificate(), key);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<std::string> words{"python3",
                                 FORETOKEN_SOURCE_DIR "/tests/support/hub_server.py",
                                 certificate(),
                                 key,
                                 (folder_ / "content").string(),
                                 (folder_ / "log").string()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = posix_spawnp(&pid_, "python3", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char byte;
  while (error == 0 && read(ends[0], &byte, 1) == 1 && byte != '\n') port_ += byte;
  close(ends[0]);
  if (port_.empty()) throw std::runtime_error("the test hub does not start");
}

Hub::~Hub() {
  stop();
}

void Hub::stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::vector<std::string> Hub::requests() const {
  std::vector<std::string> lines;
  std::istringstream log(read_file(folder_ / "log"));
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  return lines;
}

}  // namespace foretoken::test
