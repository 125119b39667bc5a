<?php
// What PHP's memcached extension does with one server, in both protocols: php extension.php HOST PORT. It prints what
// it sees; the same must be seen with the system's libmemcached and with ours.

[, $host, $port] = $argv;

function show(string $what, mixed ...$values): void {
    echo $what, ': ', implode(' ', array_map(fn ($value) => json_encode($value), $values)), "\n";
}

// The outcome of the last call with the call's own.
function told(string $what, Memcached $m, mixed $value): void {
    show($what, $value, $m->getResultCode(), $m->getResultMessage());
}

function connect(string $host, int $port, array $options): Memcached {
    $m = new Memcached();
    told('options', $m, $m->setOptions($options));
    told('server', $m, $m->addServer($host, $port));
    return $m;
}

function single(Memcached $m): void {
    foreach (['text' => 'value', 'empty' => '', 'integer' => 42, 'negative' => -7, 'float' => 1.5, 'true' => true,
              'false' => false, 'null' => null, 'array' => [1, 'two' => [3.5, null]], 'bytes' => "a\0b\r\nc"] as $key => $value) {
        told("set $key", $m, $m->set($key, $value));
        $back = $m->get($key);
        told("get $key", $m, is_string($back) ? bin2hex($back) : $back);
        show("same $key", $back === $value, gettype($back));
    }
    told('absent', $m, $m->get('absent'));
    told('add', $m, $m->add('added', 1));
    told('add again', $m, $m->add('added', 2));
    told('replace', $m, $m->replace('added', 3));
    told('replace absent', $m, $m->replace('absent', 3));
    told('delete', $m, $m->delete('added'));
    told('delete absent', $m, $m->delete('added'));
    told('touch', $m, $m->touch('text', 100));
    told('touch absent', $m, $m->touch('absent', 100));
    told('gone', $m, $m->set('gone', 'x', -1));
    told('get gone', $m, $m->get('gone'));
    told('no key', $m, $m->set('', 'x'));
    told('long key', $m, $m->set(str_repeat('k', 251), 'x'));
    told('longest key', $m, $m->set(str_repeat('k', 250), 'x'));
    told('key with a space', $m, $m->get('two words'));
}

function objects(Memcached $m): void {
    $object = new ArrayObject(['a' => 1, 'b' => [2, 3]]);
    told('set object', $m, $m->set('object', $object));
    show('same object', $m->get('object') == $object);
    $long = str_repeat('compress me ', 20000);
    told('set long', $m, $m->set('long', $long));
    show('same long', $m->get('long') === $long, strlen($long));
    mt_srand(7);
    $random = '';
    for ($at = 0; $at < 200000; $at++) {
        $random .= chr(mt_rand(0, 255));
    }
    told('set random', $m, $m->set('random', $random));
    show('same random', md5((string) $m->get('random')) === md5($random));
    told('too large', $m, $m->set('large', str_repeat($random, 8)));
}

function numbers(Memcached $m, bool $binary): void {
    told('set number', $m, $m->set('number', 10));
    told('increment', $m, $m->increment('number', 5));
    told('decrement', $m, $m->decrement('number', 100));
    told('increment absent', $m, $m->increment('no number'));
    if ($binary) {
        told('initial', $m, $m->increment('made', 1, 41));
        told('after initial', $m, $m->increment('made', 1, 41));
        told('initial down', $m, $m->decrement('made down', 1, 7));
    }
    $m->set('word', 'letters');
    told('increment a word', $m, $m->increment('word'));
}

function appended(Memcached $m): void {
    told('append compressed', $m, @$m->append('text', '!'));
    $m->setOption(Memcached::OPT_COMPRESSION, false);
    $m->set('rope', 'b');
    told('append', $m, $m->append('rope', 'c'));
    told('prepend', $m, $m->prepend('rope', 'a'));
    told('rope', $m, $m->get('rope'));
    told('append absent', $m, $m->append('absent', 'x'));
    $m->setOption(Memcached::OPT_COMPRESSION, true);
}

function tokens(Memcached $m): void {
    $m->set('token', 'first');
    $read = $m->get('token', null, Memcached::GET_EXTENDED);
    show('extended', array_keys($read), $read['value'], $read['flags'], $read['cas'] > 0);
    told('cas', $m, $m->cas($read['cas'], 'token', 'second'));
    told('stale cas', $m, $m->cas($read['cas'], 'token', 'third'));
    told('absent cas', $m, $m->cas($read['cas'], 'absent', 'x'));
    told('after cas', $m, $m->get('token'));
    $many = $m->getMulti(['token', 'text'], Memcached::GET_EXTENDED);
    ksort($many);
    show('extended many', array_keys($many), array_map(fn ($item) => $item['cas'] > 0, $many));
}

function many(Memcached $m): void {
    $items = [];
    for ($number = 0; $number < 300; $number++) {
        $items["many:$number"] = str_repeat("$number,", $number);
    }
    told('set many', $m, $m->setMulti($items, 1000));
    $keys = array_keys($items);
    $keys[] = 'absent';
    $back = $m->getMulti($keys, Memcached::GET_PRESERVE_ORDER);
    told('get many', $m, count($back));
    show('in order', array_keys($back) === $keys, $back['absent'] ?? null);
    unset($back['absent']);
    show('same many', $back === $items);
    told('get none', $m, $m->getMulti(['none', 'nowhere']));
    told('get no keys', $m, $m->getMulti([]));
    told('ask', $m, $m->getDelayed(array_slice($keys, 0, 10), true));
    $fetched = [];
    while ($item = $m->fetch()) {
        $fetched[$item['key']] = strlen($item['value']) . ($item['cas'] > 0 ? ' with' : ' without') . ' cas';
    }
    ksort($fetched);
    told('fetched', $m, $fetched);
    told('ask again', $m, $m->getDelayed(array_slice($keys, 290)));
    told('fetch all', $m, count($m->fetchAll()));
    told('fetch nothing', $m, $m->fetch());
    $called = [];
    told('ask with a function', $m, $m->getDelayed(['text', 'many:3'], false, function ($m, $item) use (&$called) {
        $called[$item['key']] = $item['value'];
    }));
    ksort($called);
    show('called', $called);
    told('delete many', $m, $m->deleteMulti(['many:1', 'many:2', 'absent']));
    told('deleted', $m, $m->getMulti(['many:1', 'many:2', 'many:3']));
}

function groups(Memcached $m): void {
    told('set by key', $m, $m->setByKey('group', 'member', 'in'));
    told('get by key', $m, $m->getByKey('group', 'member'));
    told('add by key', $m, $m->addByKey('group', 'member', 'again'));
    told('append by key', $m, $m->replaceByKey('group', 'member', 'new'));
    told('many by key', $m, $m->getMultiByKey('group', ['member']));
    told('touch by key', $m, $m->touchByKey('group', 'member', 50));
    told('delete by key', $m, $m->deleteByKey('group', 'member'));
}

function filled(Memcached $m): void {
    $fill = function (Memcached $m, string $key, mixed &$value, mixed &$expiration): bool {
        $value = "made for $key";
        $expiration = 60;
        return $key !== 'refused';
    };
    told('filled', $m, $m->get('fill me', $fill));
    told('filled before', $m, $m->get('fill me'));
    told('not filled', $m, $m->get('refused', $fill));
    told('still absent', $m, $m->get('refused'));
}

function settings(Memcached $m, string $host, int $port): void {
    told('servers', $m, count($m->getServerList()));
    told('its host', $m, $m->getServerByKey('key')['host'] === $host);
    $version = $m->getVersion();
    told('version', $m, count($version));
    $stats = $m->getStats();
    told('statistics', $m, isset($stats["$host:$port"]['pid'], $stats["$host:$port"]['curr_items']));
    $m->setOption(Memcached::OPT_PREFIX_KEY, 'prefix:');
    told('with a prefix', $m, $m->set('inside', 'here'));
    told('read with it', $m, $m->get('inside'));
    told('many with it', $m, $m->getMulti(['inside']));
    $m->setOption(Memcached::OPT_PREFIX_KEY, '');
    told('read without it', $m, $m->get('prefix:inside'));
    foreach ([Memcached::OPT_HASH => Memcached::HASH_CRC, Memcached::OPT_DISTRIBUTION => Memcached::DISTRIBUTION_CONSISTENT,
              Memcached::OPT_LIBKETAMA_COMPATIBLE => true, Memcached::OPT_TCP_NODELAY => true,
              Memcached::OPT_POLL_TIMEOUT => 2500] as $option => $value) {
        told("option $option", $m, $m->setOption($option, $value));
        show("is $option", $m->getOption($option));
    }
    told('flush buffers', $m, $m->flushBuffers());
    told('quit', $m, $m->quit());
    told('after quit', $m, $m->get('prefix:inside'));
    told('flush', $m, $m->flush());
    told('after flush', $m, $m->get('prefix:inside'));
    told('reset', $m, $m->resetServerList());
    told('no servers', $m, $m->get('key'));
    told('dead server', $m, $m->addServer('127.0.0.1', 1));
    told('get from it', $m, $m->get('key'));
}

function sessions(string $host, int $port): void {
    ini_set('session.save_handler', 'memcached');
    ini_set('session.save_path', "$host:$port");
    ini_set('session.use_cookies', '0');
    ini_set('session.cache_limiter', '');
    session_id('abc123');
    $lines = [['session', session_start()]];
    $_SESSION['visits'] = ['one', 2];
    $lines[] = ['closed', session_write_close()];
    $_SESSION = [];
    $lines[] = ['again', session_start(), $_SESSION];
    $lines[] = ['destroyed', session_destroy()];
    $lines[] = ['anew', session_start(), $_SESSION];
    session_write_close();
    array_map(fn ($line) => show(...$line), $lines);
}

ob_start();
foreach ([false, true] as $binary) {
    show('binary', $binary);
    $m = connect($host, (int) $port, [Memcached::OPT_BINARY_PROTOCOL => $binary, Memcached::OPT_RETRY_TIMEOUT => 0]);
    single($m);
    objects($m);
    numbers($m, $binary);
    appended($m);
    tokens($m);
    many($m);
    groups($m);
    filled($m);
    settings($m, $host, (int) $port);
}
sessions($host, (int) $port);
